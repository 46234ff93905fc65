// SPDX-License-Identifier: Apache-2.0
#include "report/validation_view.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace shardfit {
namespace {

using validation::RowStatus;

constexpr std::size_t kWorstRows = 10;

Section quantities_section(const validation::Summary& summary) {
  Table table{.columns = {{"quantity", "quantity"},
                          {"rows", "rows", ColumnKind::count},
                          {"median_abs_error", "median", ColumnKind::ratio, 2},
                          {"p90_abs_error", "p90", ColumnKind::ratio, 2},
                          {"max_abs_error", "largest", ColumnKind::ratio, 1},
                          {"bias", "bias", ColumnKind::ratio, 2}}};
  for (const validation::QuantitySummary& q : summary.quantities)
    table.rows.push_back(
        {{text_cell(q.quantity), count_cell(q.rows), q.median_abs_error, q.p90_abs_error, q.max_abs_error, q.bias}});
  return {"summary", "Errors (predicted over measured, less 1)", std::move(table), {}};
}

Section counts_section(const validation::Summary& s) {
  Facts facts{{{"rows", "rows", ColumnKind::count}, count_cell(s.rows), ""},
              {{"ok", "predicted", ColumnKind::count}, count_cell(s.ok), ""},
              {{"unsupported", "unsupported", ColumnKind::count}, count_cell(s.unsupported), ""},
              {{"invalid", "refused or unreadable", ColumnKind::count}, count_cell(s.invalid), ""},
              {{"errors", "errors", ColumnKind::count}, count_cell(s.errors), ""}};
  return {"counts", "Rows", std::move(facts), {}};
}

Section verdicts_section(const validation::VerdictSummary& v) {
  Facts facts{{{"verdict_rows", "outcomes known", ColumnKind::count}, count_cell(v.rows), ""},
              {{"oom", "of them out of memory", ColumnKind::count}, count_cell(v.oom), ""},
              {{"oom_caught", "of these predicted", ColumnKind::count}, count_cell(v.oom_caught), ""},
              {{"fits_right", "fits predicted as fits", ColumnKind::count}, count_cell(v.fits_right), ""},
              {{"balanced_accuracy", "balanced accuracy", ColumnKind::number, 3},
               v.oom > 0 && v.oom < v.rows ? Cell(v.balanced_accuracy) : Cell(),
               ""},
              {{"brier", "Brier score of p_oom", ColumnKind::number, 3}, v.brier, ""}};
  return {"verdicts", "Fits or out of memory", std::move(facts), {}};
}

Section order_section(const validation::OrderSummary& o) {
  Facts facts{{{"pairs", "pairs that differ by more than 5 %", ColumnKind::count}, count_cell(o.pairs), ""},
              {{"right", "in the right order", ColumnKind::count}, count_cell(o.right), ""}};
  return {"order", "Order of layouts of one model, GPU and precision", std::move(facts), {}};
}

Section rank_section(const std::vector<validation::RankCorrelation>& correlations) {
  Table table{.columns = {{"group", "model/cluster/precision/sequence"},
                          {"rows", "rows", ColumnKind::count},
                          {"spearman", "rank correlation", ColumnKind::number, 2}}};
  for (const validation::RankCorrelation& r : correlations)
    table.rows.push_back({{text_cell(r.group), count_cell(r.rows), r.correlation}});
  return {"rank_correlation", "Rank correlation of time per token", std::move(table), {}};
}

Section effects_section(const validation::EffectSummary& e) {
  Facts facts{
      {{"pairs", "pairs", ColumnKind::count}, count_cell(e.pairs), ""},
      {{"predicted", "with a prediction", ColumnKind::count}, count_cell(e.predicted), ""},
      {{"clean_above_noise", "clean and above their noise", ColumnKind::count}, count_cell(e.clean_above_noise), ""},
      {{"sign_right", "of these, sign right", ColumnKind::count}, count_cell(e.sign_right), ""},
      {{"size_right", "of these, size within a third", ColumnKind::count}, count_cell(e.size_right), ""},
      {{"families", "families of them (one change in several releases)", ColumnKind::count}, count_cell(e.families), ""},
      {{"family_sign_right", "sign right, by family", ColumnKind::ratio}, e.family_sign_right, ""},
      {{"family_size_right", "size within a third, by family", ColumnKind::ratio}, e.family_size_right, ""},
      {{"no_change", "clean and below their noise", ColumnKind::count}, count_cell(e.no_change), ""},
      {{"no_change_right", "of these, predicted below 5 %", ColumnKind::count}, count_cell(e.no_change_right), ""}};
  return {"effect_summary", "Effects of single changes", std::move(facts), {}};
}

/// Why rows have no prediction, or have one though a rule refuses them ("predicted").
Section reasons_section(const std::vector<validation::Row>& rows) {
  std::map<std::pair<std::string, std::string>, int> reasons;
  for (const validation::Row& row : rows) {
    if (row.status != RowStatus::ok) ++reasons[{std::string(name_of(row.status)), row.reason}];
    if (!row.breaks.empty()) ++reasons[{"predicted", row.breaks}];
  }
  std::vector<std::pair<int, std::pair<std::string, std::string>>> sorted;
  for (const auto& [reason, n] : reasons) sorted.push_back({n, reason});
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  Table table{.columns = {{"rows", "rows", ColumnKind::count}, {"status", "status"}, {"reason", "reason"}}};
  for (const auto& [n, reason] : sorted)
    table.rows.push_back({{count_cell(n), text_cell(reason.first), text_cell(reason.second)}});
  return {"reasons", "Rows without a prediction, or with one though a rule refuses what they say", std::move(table), {}};
}

std::vector<Column> score_columns() {
  return {{"quantity", "quantity"},
          {"error", "error", ColumnKind::ratio, 1},
          {"measured", "measured", ColumnKind::number, 4},
          {"predicted", "predicted", ColumnKind::number, 4},
          {"id", "run"}};
}

struct Scored {
  const validation::Row* row;
  const validation::Score* score;
};

Row score_row(const Scored& s) {
  return {{text_cell(s.score->name), s.score->error(), s.score->measured, s.score->predicted, text_cell(s.row->id)}};
}

std::vector<Scored> all_scores(const std::vector<validation::Row>& rows) {
  std::vector<Scored> all;
  for (const validation::Row& row : rows)
    for (const validation::Score& score : row.scores) all.push_back({&row, &score});
  return all;
}

/// The worst rows of every quantity: a large error of one must not hide those of another.
Section worst_section(const validation::Summary& summary, const std::vector<validation::Row>& rows) {
  Table table{.columns = score_columns()};
  const std::vector<Scored> all = all_scores(rows);
  for (const validation::QuantitySummary& q : summary.quantities) {
    std::vector<Scored> of;
    std::copy_if(all.begin(), all.end(), std::back_inserter(of), [&](const Scored& s) { return s.score->name == q.quantity; });
    std::stable_sort(of.begin(), of.end(),
                     [](const Scored& a, const Scored& b) { return std::abs(a.score->error()) > std::abs(b.score->error()); });
    of.resize(std::min(of.size(), kWorstRows));
    for (const Scored& s : of) table.rows.push_back(score_row(s));
  }
  return {"worst", "Worst rows", std::move(table), {}};
}

Section effect_rows_section(const validation::Effects& effects) {
  Table table{.columns = {{"id", "effect"},
                          {"kind", "kind"},
                          {"quantity", "quantity"},
                          {"clean", "clean", ColumnKind::flag},
                          {"measured", "measured", ColumnKind::number, 3},
                          {"predicted", "predicted", ColumnKind::number, 3},
                          {"noise", "noise", ColumnKind::number, 3},
                          {"unit", "unit", ColumnKind::text, 1, Shown::data_only},
                          {"reason", "no prediction because", ColumnKind::text, 1, Shown::data_only}}};
  const auto number = [](const std::optional<double>& v) { return v ? Cell(*v) : Cell(); };
  for (const validation::EffectRow& r : effects.rows)
    table.rows.push_back({{text_cell(r.id), text_cell(r.kind), text_cell(r.quantity), r.clean, number(r.measured),
                           number(r.predicted), r.noise, text_cell(r.unit), text_cell(r.reason)}});
  return {"effects", "Effects, pair by pair", std::move(table), {}};
}

/// How much the answers depend on what the runs do not state.
Section assumed_section(const ValidationResult& result) {
  Table table{.columns = {{"id", "run"},
                          {"field", "assumed"},
                          {"now", "as"},
                          {"other", "in its place"},
                          {"quantity", "quantity"},
                          {"error", "error", ColumnKind::ratio, 1},
                          {"other_error", "error then", ColumnKind::ratio, 1},
                          {"reason", "no prediction because"}}};
  const auto scored = [&](const validation::AssumedEffect& effect, const std::string& quantity) -> Cell {
    for (const validation::Row& row : result.rows)
      if (row.id == effect.id)
        for (const validation::Score& score : row.scores)
          if (score.name == quantity) return score.error();
    return {};
  };
  for (const validation::AssumedEffect& a : result.assumed) {
    const auto add = [&](const std::string& quantity, Cell error, Cell then) {
      table.rows.push_back({{text_cell(a.id), text_cell(a.field), text_cell(a.now), text_cell(a.other), text_cell(quantity),
                             std::move(error), std::move(then), text_cell(a.reason)}});
    };
    if (a.scores.empty()) add("", {}, {});
    for (const validation::Score& score : a.scores) add(score.name, scored(a, score.name), score.error());
  }
  return {"assumed", "What runs leave unsaid, one value changed at a time", std::move(table), {}};
}

/// Statements that no row makes but that take part in predictions: none of them goes unseen.
Section facts_section(const ValidationResult& result) {
  Table table{.columns = {{"runs", "runs"}, {"rows", "rows", ColumnKind::count}, {"fact", "taken as"}, {"source", "because"}}};
  for (std::size_t i = 0; i < result.facts.size(); ++i)
    table.rows.push_back({{text_cell(result.facts[i].runs), count_cell(result.facts_held[i]),
                           text_cell("resumed from a checkpoint"), text_cell(result.facts[i].source)}});
  return {"facts", "Stated beside the rows (--facts)", std::move(table), {}};
}

Section first_steps_section(const validation::FirstSteps& f) {
  Facts facts{{{"first_step_rows", "rows with the peak of the first step", ColumnKind::count}, count_cell(f.rows), ""},
              {{"resumed_stated", "stated as resumed", ColumnKind::count},
               count_cell(f.stated),
               "whether a run resumed is no field of a row: --facts states it"},
              {{"fresh", "within 1 % if moments come with the first update", ColumnKind::count}, count_cell(f.fresh), ""},
              {{"resumed", "within 1 % if a checkpoint brought them", ColumnKind::count}, count_cell(f.resumed), ""},
              {{"either", "within 1 % in one of the two ways", ColumnKind::count}, count_cell(f.either), ""}};
  return {"first_steps", "How first steps can be read", std::move(facts), {}};
}

/// Measured numbers that are left out, once each with the rows that have them.
std::vector<std::string> left_out_numbers(const std::vector<validation::MeasuredRun>& runs) {
  std::map<std::string, std::vector<std::string>> ids;
  for (const validation::MeasuredRun& run : runs)
    for (const std::string& words : validation::not_scored(run)) ids[words].push_back(run.id);
  std::vector<std::string> warnings;
  for (const auto& [words, rows] : ids)
    warnings.push_back(rows.size() == 1
                           ? words + " (" + rows.front() + "): not scored"
                           : words + " (" + std::to_string(rows.size()) + " rows, the first " + rows.front() + "): not scored");
  return warnings;
}

}  // namespace

Document validation_document(const ValidationResult& result) {
  Document document{.view = "validate", .title = "Predictions held against measured runs"};
  document.sections.push_back(counts_section(result.summary));
  document.sections.push_back(quantities_section(result.summary));
  if (result.summary.verdicts.rows) document.sections.push_back(verdicts_section(result.summary.verdicts));
  if (result.summary.order.pairs) document.sections.push_back(order_section(result.summary.order));
  if (!result.summary.rank_correlations.empty()) document.sections.push_back(rank_section(result.summary.rank_correlations));
  if (result.effects) {
    document.sections.push_back(effects_section(result.effects->summary));
    document.sections.push_back(effect_rows_section(*result.effects));
  }
  if (!result.facts.empty()) document.sections.push_back(facts_section(result));
  if (result.first_steps.rows) document.sections.push_back(first_steps_section(result.first_steps));
  if (Section reasons = reasons_section(result.rows); !std::get<Table>(reasons.body).rows.empty())
    document.sections.push_back(std::move(reasons));
  if (!result.assumed.empty()) document.sections.push_back(assumed_section(result));
  document.sections.push_back(worst_section(result.summary, result.rows));
  document.warnings = left_out_numbers(result.runs);
  return document;
}

Document validation_rows_document(const ValidationResult& result) {
  Table table{.columns = score_columns()};
  for (const Scored& s : all_scores(result.rows)) table.rows.push_back(score_row(s));
  return {.view = "validate",
          .title = "Predictions held against measured runs",
          .sections = {{"rows", "Rows", std::move(table), {}}}};
}

}  // namespace shardfit
