// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/validation_view.hpp"

namespace shardfit {
namespace {

using validation::QuantitySummary;

constexpr std::size_t kWorst = 15;
constexpr std::size_t kMostGroups = 40;  // a table with a row a run tells nothing

/// Figures that follow from the step time: their errors stand in the summary, their tables would repeat its own.
bool repeats_step_time(const std::string& quantity) {
  return quantity == "tflops_per_gpu" || quantity == "tokens_per_s_per_gpu";
}

std::string error_header(const std::string& first) {
  return "| " + first + " | rows | median | p90 | largest | bias |\n|---|---:|---:|---:|---:|---:|\n";
}

std::string error_row(const std::string& name, const QuantitySummary& q) {
  return fmt::format("| {} | {} | {:.2f} % | {:.2f} % | {:.1f} % | {:+.2f} % |\n", name, q.rows, 100 * q.median_abs_error,
                     100 * q.p90_abs_error, 100 * q.max_abs_error, 100 * q.bias);
}

std::string groups_text(const ValidationResult& result, const std::string& quantity) {
  std::string text;
  for (const char* field : {"hardware", "model", "precision", "family", "release"}) {
    const auto groups = validation::summarize_by(result.runs, result.rows, field, quantity);
    if (groups.size() < 2 || groups.size() > kMostGroups) continue;
    text += fmt::format("\nBy {}:\n\n", field) + error_header(field);
    for (const validation::GroupSummary& g : groups) text += error_row(g.group, g.errors);
  }
  return text;
}

std::string worst_text(const ValidationResult& result, const std::string& quantity) {
  std::vector<std::pair<double, const validation::Row*>> rows;
  for (const validation::Row& row : result.rows)
    for (const validation::Score& s : row.scores)
      if (s.name == quantity) rows.push_back({s.error(), &row});
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.first) > std::abs(b.first); });
  rows.resize(std::min(rows.size(), kWorst));
  std::string text = "\nLargest errors:\n\n| error | run |\n|---:|---|\n";
  for (const auto& [error, row] : rows) text += fmt::format("| {:+.1f} % | {} |\n", 100 * error, row->id);
  return text;
}

std::string verdict_groups_text(const ValidationResult& result) {
  std::string text;
  for (std::size_t f = 0; f < kCount<validation::VerdictField>; ++f) {
    const auto field = validation::VerdictField(f);
    const auto groups = validation::verdicts_by(result.runs, result.rows, field);
    if (groups.size() < 2 || groups.size() > kMostGroups) continue;
    text += fmt::format(
        "\nBy {0}:\n\n| {0} | rows | out of memory | caught | ran | right | Brier |\n"
        "|---|---:|---:|---:|---:|---:|---:|\n",
        name_of(field));
    for (const auto& [name, v] : groups)
      text += fmt::format("| {} | {} | {} | {} | {} | {} | {:.3f} |\n", name, v.rows, v.oom, v.oom_caught, v.rows - v.oom,
                          v.fits_right, v.brier);
  }
  return text;
}

std::string verdict_text(const ValidationResult& result) {
  const validation::VerdictSummary& v = result.summary.verdicts;
  if (v.rows == 0) return "";
  std::string text = fmt::format(
      "\n## Fits or out of memory\n\n{} outcomes known, {} of them out of memory; {} of these predicted, {} of the {} that ran "
      "predicted to fit. Brier score of `p_oom` {:.3f}.",
      v.rows, v.oom, v.oom_caught, v.fits_right, v.rows - v.oom, v.brier);
  if (v.oom > 0 && v.oom < v.rows)
    text += fmt::format(" Balanced accuracy {:.3f} (always saying \"fits\": 0.5).", v.balanced_accuracy);
  text += "\n";
  text += verdict_groups_text(result);
  text += "\nWrong verdicts:\n\n| measured | p_oom | run |\n|---|---:|---|\n";
  for (const validation::Row& row : result.rows)
    if (row.verdict && row.verdict->measured_oom != row.verdict->predicted_oom)
      text += fmt::format("| {} | {:.2f} | {} |\n", row.verdict->measured_oom ? "oom" : "fits", row.verdict->p_oom, row.id);
  return text;
}

std::string effects_text(const validation::EffectSummary& e) {
  return fmt::format(
      "\n## Effects of single changes\n\n{} pairs, {} with a prediction. Clean pairs above their noise: {}; sign right {}, "
      "size "
      "within a third {}. Clean pairs below their noise: {}, predicted below 5 %: {}.\n",
      e.pairs, e.predicted, e.clean_above_noise, e.sign_right, e.size_right, e.no_change, e.no_change_right);
}

std::string facts_text(const ValidationResult& result) {
  std::string text;
  for (std::size_t i = 0; i < result.facts.size(); ++i)
    text += fmt::format("\nStated beside the rows: {} runs `{}` are taken as resumed from a checkpoint. {}.\n",
                        result.facts_held[i], result.facts[i].runs, result.facts[i].source);
  if (const validation::FirstSteps& f = result.first_steps; f.rows)
    text += fmt::format(
        "\nOf {} peaks of first steps, {} come out within 1 % if moments come with the first update, {} if a "
        "checkpoint brought them, {} in one of the two ways.\n",
        f.rows, f.fresh, f.resumed, f.either);
  return text;
}

std::string without_text(const ValidationResult& result) {
  std::string text =
      "\n## Rows without a prediction, or with one though a rule refuses what they say\n\n| status | reason | run "
      "|\n|---|---|---|\n";
  bool any = false;
  for (const validation::Row& row : result.rows) {
    const bool predicted = row.status == validation::RowStatus::ok;
    if (predicted && row.breaks.empty()) continue;
    any = true;
    text += fmt::format("| {} | {} | {} |\n", predicted ? "predicted" : name_of(row.status),
                        predicted ? row.breaks : row.reason, row.id);
  }
  return any ? text : "";
}

}  // namespace

std::string validation_markdown(const ValidationResult& result) {
  const validation::Summary& s = result.summary;
  std::string text = fmt::format("Cost model {}; {} rows, {} predicted, {} unsupported, {} refused.\n\n", kCostModelVersion,
                                 s.rows, s.ok, s.unsupported, s.invalid + s.errors);
  text += error_header("quantity");
  for (const QuantitySummary& q : s.quantities) text += error_row(q.quantity, q);
  text += facts_text(result);
  for (const QuantitySummary& q : s.quantities)
    if (!repeats_step_time(q.quantity))
      text += fmt::format("\n## {}\n", q.quantity) + groups_text(result, q.quantity) + worst_text(result, q.quantity);
  text += verdict_text(result);
  if (s.order.pairs)
    text += fmt::format(
        "\n## Order of layouts\n\nPairs of one model, GPU and precision that differ by more than 5 %: {} of {} in "
        "the right order.\n",
        s.order.right, s.order.pairs);
  if (result.effects) text += effects_text(result.effects->summary);
  return text + without_text(result);
}

}  // namespace shardfit
