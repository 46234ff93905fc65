// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "report/validation_view.hpp"

namespace shardfit {
namespace {

using nlohmann::ordered_json;

ordered_json json_of(const std::vector<validation::Score>& scores) {
  ordered_json quantities = ordered_json::array();
  for (const validation::Score& s : scores)
    quantities.push_back({{"name", s.name}, {"measured", s.measured}, {"predicted", s.predicted}, {"error", s.error()}});
  return quantities;
}

ordered_json json_of(const validation::Row& row) {
  ordered_json out{
      {"id", row.id}, {"status", name_of(row.status)}, {"reason", row.reason}, {"quantities", json_of(row.scores)}};
  if (!row.breaks.empty()) out["breaks"] = row.breaks;
  const auto word = [](bool oom) { return oom ? "oom" : "fits"; };
  if (row.verdict)
    out["verdict"] = {{"measured", word(row.verdict->measured_oom)},
                      {"predicted", word(row.verdict->predicted_oom)},
                      {"p_oom", row.verdict->p_oom}};
  return out;
}

ordered_json json_of(const validation::QuantitySummary& q) {
  return {{"quantity", q.quantity},
          {"rows", q.rows},
          {"median_abs_error", q.median_abs_error},
          {"p90_abs_error", q.p90_abs_error},
          {"max_abs_error", q.max_abs_error},
          {"bias", q.bias}};
}

ordered_json json_of(const validation::EffectRow& r) {
  ordered_json out{{"id", r.id}, {"kind", r.kind}, {"quantity", r.quantity}, {"clean", r.clean}};
  out["measured"] = r.measured ? ordered_json(*r.measured) : ordered_json();
  out["predicted"] = r.predicted ? ordered_json(*r.predicted) : ordered_json();
  out["noise"] = r.noise;
  if (!r.unit.empty()) out["unit"] = r.unit;
  if (!r.reason.empty()) out["reason"] = r.reason;
  return out;
}

ordered_json json_of(const validation::AssumedEffect& a) {
  ordered_json out{{"id", a.id}, {"field", a.field}, {"now", a.now}, {"other", a.other}};
  if (!a.reason.empty()) out["reason"] = a.reason;
  out["quantities"] = json_of(a.scores);
  return out;
}

}  // namespace

std::string validation_json(const ValidationResult& result) {
  ordered_json out;
  out["model_version"] = kCostModelVersion;
  out["rows"] = ordered_json::array();
  for (const validation::Row& row : result.rows) out["rows"].push_back(json_of(row));
  out["summary"] = ordered_json::array();
  for (const validation::QuantitySummary& q : result.summary.quantities) out["summary"].push_back(json_of(q));
  const validation::VerdictSummary& v = result.summary.verdicts;
  out["verdicts"] = {{"rows", v.rows},
                     {"oom", v.oom},
                     {"oom_caught", v.oom_caught},
                     {"fits_right", v.fits_right},
                     {"balanced_accuracy", v.balanced_accuracy},
                     {"brier", v.brier}};
  out["order"] = {{"pairs", result.summary.order.pairs}, {"right", result.summary.order.right}};
  out["rank_correlation"] = ordered_json::array();
  for (const validation::RankCorrelation& r : result.summary.rank_correlations)
    out["rank_correlation"].push_back({{"group", r.group}, {"rows", r.rows}, {"spearman", r.correlation}});
  if (result.effects) {
    out["effects"] = ordered_json::array();
    for (const validation::EffectRow& r : result.effects->rows) out["effects"].push_back(json_of(r));
  }
  if (!result.assumed.empty()) {
    out["assumed"] = ordered_json::array();
    for (const validation::AssumedEffect& a : result.assumed) out["assumed"].push_back(json_of(a));
  }
  if (!result.facts.empty()) {
    out["facts"] = ordered_json::array();
    for (std::size_t i = 0; i < result.facts.size(); ++i)
      out["facts"].push_back({{"runs", result.facts[i].runs},
                              {"resumed", result.facts[i].resumed},
                              {"source", result.facts[i].source},
                              {"held_for", result.facts_held[i]}});
  }
  if (const validation::FirstSteps& f = result.first_steps; f.rows)
    out["first_steps"] = {{"rows", f.rows},
                          {"resumed_stated", f.stated},
                          {"within_1_pct_as_fresh", f.fresh},
                          {"within_1_pct_as_resumed", f.resumed},
                          {"within_1_pct_as_either", f.either}};
  return out.dump(1) + "\n";
}

}  // namespace shardfit
