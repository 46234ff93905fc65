// SPDX-License-Identifier: Apache-2.0
#include "report/points_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace shardfit {
namespace {

using validation::PointScore;
using validation::PointScores;
using validation::PointSummary;

constexpr std::size_t kWorst = 15;
constexpr const char* kTitle = "Predictions held against measured kernels";

Section summaries_section(const char* key, const char* title, const std::vector<PointSummary>& summaries) {
  Table table{.columns = {{key, key == std::string("family") ? "points of" : "group"},
                          {"points", "points", ColumnKind::count},
                          {"median_abs_error", "median", ColumnKind::ratio, 1},
                          {"p90_abs_error", "p90", ColumnKind::ratio, 1},
                          {"max_abs_error", "largest", ColumnKind::ratio, 1},
                          {"bias", "bias", ColumnKind::ratio, 1},
                          {"within_15_percent", "in 15 %", ColumnKind::ratio, 0},
                          {"within_20_percent", "in 20 %", ColumnKind::ratio, 0},
                          {"within_35_percent", "in 35 %", ColumnKind::ratio, 0}}};
  for (const PointSummary& s : summaries)
    table.rows.push_back(
        {{text_cell(s.errors.quantity), count_cell(s.errors.rows), s.errors.median_abs_error, s.errors.p90_abs_error,
          s.errors.max_abs_error, s.errors.bias, s.within_15, s.within_20, s.within_35}});
  return {key, title, std::move(table), {}};
}

Section left_out_section(const PointScores& scores) {
  Table table{.columns = {{"points", "points", ColumnKind::count}, {"reason", "reason"}}};
  for (const auto& [reason, n] : scores.left_out) table.rows.push_back({{count_cell(n), text_cell(reason)}});
  return {"left_out", "Lines without a prediction", std::move(table), {}};
}

std::vector<const PointScore*> worst_of(const PointScores& scores) {
  std::vector<const PointScore*> worst;
  for (const PointScore& s : scores.scores) worst.push_back(&s);
  const auto size = [](const PointScore* s) { return std::abs(std::log(s->predicted_us / s->measured_us)); };
  std::stable_sort(worst.begin(), worst.end(), [&](auto* a, auto* b) { return size(a) > size(b); });
  worst.resize(std::min(worst.size(), kWorst));
  return worst;
}

Section points_section(const char* key, const char* title, const std::vector<const PointScore*>& points) {
  Table table{.columns = {{"error", "error", ColumnKind::ratio, 1},
                          {"measured_us", "measured us", ColumnKind::number, 1},
                          {"predicted_us", "predicted us", ColumnKind::number, 1},
                          {"group", "group"},
                          {"point", "point"}}};
  for (const PointScore* s : points)
    table.rows.push_back({{s->error(), s->measured_us, s->predicted_us, text_cell(s->group), text_cell(s->point)}});
  return {key, title, std::move(table), {}};
}

std::string summaries_markdown(const char* heading, const std::vector<PointSummary>& summaries) {
  std::string text = fmt::format(
      "\n| {} | points | median | p90 | largest | bias | in 15 % | in 20 % | in 35 % "
      "|\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
      heading);
  for (const PointSummary& s : summaries)
    text += fmt::format("| {} | {} | {:.1f} % | {:.1f} % | {:.1f} % | {:+.1f} % | {:.0f} % | {:.0f} % | {:.0f} % |\n",
                        s.errors.quantity, s.errors.rows, 100 * s.errors.median_abs_error, 100 * s.errors.p90_abs_error,
                        100 * s.errors.max_abs_error, 100 * s.errors.bias, 100 * s.within_15, 100 * s.within_20,
                        100 * s.within_35);
  return text;
}

}  // namespace

Document points_document(const PointScores& scores) {
  Document document{.view = "validate", .title = kTitle};
  document.sections.push_back(
      summaries_section("family", "Errors (predicted over measured, less 1)", summarize_points(scores, &PointScore::family)));
  document.sections.push_back(summaries_section("group", "By group", summarize_points(scores, &PointScore::group)));
  if (!scores.left_out.empty()) document.sections.push_back(left_out_section(scores));
  document.sections.push_back(points_section("worst", "Worst points", worst_of(scores)));
  return document;
}

Document points_rows_document(const PointScores& scores) {
  std::vector<const PointScore*> all;
  for (const PointScore& s : scores.scores) all.push_back(&s);
  return {.view = "validate", .title = kTitle, .sections = {points_section("points", "Points", all)}};
}

std::string points_markdown(const PointScores& scores) {
  std::string text = summaries_markdown("points of", summarize_points(scores, &PointScore::family));
  text += "\nBy group:\n" + summaries_markdown("group", summarize_points(scores, &PointScore::group));
  if (!scores.left_out.empty()) text += "\nLines without a prediction:\n\n| lines | reason |\n|---:|---|\n";
  for (const auto& [reason, n] : scores.left_out) text += fmt::format("| {} | {} |\n", n, reason);
  return text;
}

}  // namespace shardfit
