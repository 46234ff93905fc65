// SPDX-License-Identifier: Apache-2.0
#include "validation/score.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <string_view>

#include "shardfit/base/names.hpp"
#include "validation/log_reading.hpp"

namespace shardfit::validation {
namespace {

int last_stage(const Estimate& e) { return e.layout.pp - 1; }

/// A measured field, and what is predicted for it in its unit.
struct Quantity {
  std::string_view name;
  double (*predict)(const MeasuredRun&, const Estimate&);
  bool timed = false;  ///< not to be had where the global batch is assumed
};

constexpr Quantity kQuantities[] = {
    {"static_allocated_bytes",
     [](const MeasuredRun&, const Estimate& e) {
       return double(ledger_of(e, last_stage(e), MemoryMoment::between_steps).allocated().value);
     }},
    {kFirstStepPeak,
     [](const MeasuredRun& run, const Estimate& e) { return logged_first_step(run, e, last_stage(e), run.resumed); }},
    {"peak_allocated_second_logged_step_bytes",
     [](const MeasuredRun& run, const Estimate& e) { return logged_second_step(run, e, last_stage(e)); }},
    {"peak_allocated_bytes",
     [](const MeasuredRun&, const Estimate& e) { return double(allocated_peak(e, last_stage(e)).allocated.value); }},
    {"peak_allocated_gb", [](const MeasuredRun& run, const Estimate& e) { return double(logged_peak(run, e).value) / kGB; }},
    {"peak_gib", [](const MeasuredRun& run, const Estimate& e) { return in_gib(reported_peak(run, e)); }},
    {"reserved_gib", [](const MeasuredRun&, const Estimate& e) { return in_gib(largest_reserved(e)); }},
    {"step_time_s", [](const MeasuredRun&, const Estimate& e) { return e.step_time_s; }, true},
    {"tokens_per_s_per_gpu", [](const MeasuredRun&, const Estimate& e) { return e.tokens_per_s_per_gpu; }, true},
    {"tflops_per_gpu", [](const MeasuredRun&, const Estimate& e) { return e.model_tflops_per_gpu; }, true}};

/// What runs that died tell of their death; nothing is predicted for it.
constexpr std::string_view kOfDeath[] = {"allocated_at_death_gib", "failed_request_gib"};

const Quantity* quantity_of(std::string_view name) {
  const auto at = std::find_if(std::begin(kQuantities), std::end(kQuantities),
                               [&](const Quantity& q) { return q.name == name; });
  return at == std::end(kQuantities) ? nullptr : at;
}

std::optional<double> predicted(const MeasuredRun& run, const Estimate& e, const std::string& name) {
  const Quantity* quantity = quantity_of(name);
  if (!quantity || (quantity->timed && run.global_batch_assumed)) return std::nullopt;
  return quantity->predict(run, e);
}

void score_quantities(const MeasuredRun& run, const Estimate& e, Row& row) {
  for (const auto& [name, measured] : run.quantities)
    if (const auto value = predicted(run, e, name); value && measured > 0) row.scores.push_back({name, measured, *value});
  for (const auto& [name, by_rank] : run.by_rank) {
    if (by_rank.empty()) continue;
    const double measured = *std::max_element(by_rank.begin(), by_rank.end());
    const Bytes most = name == "peak_reserved_mib_by_rank" ? largest_reserved(e) : largest_allocated(e);
    row.scores.push_back({name, measured, in_mib(most)});
  }
}

/// Scores the bytes between steps a second time, where a row states figures that were inferred from sizes: now with what
/// the stack's profile makes of them.
void score_static_by_profile(const MeasuredRun& run, Row& row) {
  const auto measured = run.quantities.find("static_allocated_bytes");
  if (measured == run.quantities.end() || !run.stack_by_profile) return;
  Job job = run.scenario.job;
  job.stack = *run.stack_by_profile;
  const Estimate e = Estimator(job).evaluate(run.scenario.base);
  const Bytes bytes = ledger_of(e, e.layout.pp - 1, MemoryMoment::between_steps).allocated();
  row.scores.push_back({"static_allocated_bytes_by_profile", measured->second, double(bytes.value)});
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& t : texts) all += (all.empty() ? "" : "; ") + t;
  return all;
}

std::string words_of_violation(const Violation& v) {
  const RuleInfo& rule = rules()[std::size_t(v.rule)];
  return std::string(rule.code) + ": " + std::string(rule.condition) + " (" + std::to_string(v.got) + " against " +
         std::to_string(v.need) + ")";
}

/// A row that its source leaves incomplete is held against nothing, but the relation to another run may be: with what is
/// assumed in the place of what is missing. No estimate where that is no layout.
void set_estimate_for_relations(const MeasuredRun& run, Row& row) {
  try {
    const Layout& layout = run.scenario.base;
    if (!first_violation(run.scenario.job, layout)) row.estimate = Estimator(run.scenario.job).evaluate(layout);
  } catch (const std::exception&) {
    row.estimate.reset();  // the row already says why it is not scored
  }
}

}  // namespace

std::vector<std::string> not_scored(const MeasuredRun& run) {
  std::vector<std::string> words;
  std::vector<std::string_view> names;
  for (const Quantity& quantity : kQuantities) names.push_back(quantity.name);
  for (const auto& [name, value] : run.quantities) {
    if (std::find(std::begin(kOfDeath), std::end(kOfDeath), name) != std::end(kOfDeath)) continue;
    if (!quantity_of(name)) {
      const auto near = nearest_name(name, names);
      words.push_back("measured." + name + " is no quantity that is predicted" +
                      (near ? "; did you mean \"" + *near + "\"?" : ""));
    } else if (value <= 0) {
      words.push_back("measured." + name + " is not above 0");
    }
  }
  return words;
}

Row score(const MeasuredRun& run) {
  Row row{.id = run.id};
  if (!run.invalid.empty()) {
    row.status = RowStatus::invalid;
    row.reason = run.invalid;
    return row;
  }
  if (!run.unsupported.empty()) {
    row.status = RowStatus::unsupported;
    row.reason = joined(run.unsupported);
    return row;
  }
  if (!run.incomplete.empty()) {
    row.status = RowStatus::unsupported;
    row.reason = "incomplete in its source: " + joined(run.incomplete);
    set_estimate_for_relations(run, row);
    return row;
  }
  try {
    const Layout& layout = run.scenario.base;
    const auto violations = all_violations(run.scenario.job, layout);
    const auto size = std::find_if(violations.begin(), violations.end(),
                                   [](const Violation& v) { return !is_setting(v.rule); });
    if (size != violations.end()) {
      row.status = RowStatus::invalid;
      row.reason = words_of_violation(*size);
      return row;
    }
    // What ran is predicted: either the row says what it did not do, or the rule holds no longer, or not yet.
    if (!violations.empty()) row.breaks = words_of_violation(violations.front());
    row.estimate = Estimator(run.scenario.job).evaluate(layout);
    score_quantities(run, *row.estimate, row);
    score_static_by_profile(run, row);
    if (run.oom) row.verdict = {*run.oom, !row.estimate->verdict.fits, row.estimate->verdict.p_oom};
  } catch (const std::exception& problem) {
    row.status = RowStatus::error;
    row.reason = problem.what();
    row.estimate.reset();
  }
  return row;
}

}  // namespace shardfit::validation
