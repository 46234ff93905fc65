// SPDX-License-Identifier: Apache-2.0
#include "validation/points.hpp"

#include <algorithm>
#include <cmath>

#include "shardfit/base/error.hpp"

namespace shardfit::validation {
namespace {

/// Names that sources use for a GPU of which we hold a cluster under another.
const std::map<std::string, std::string>& synonyms() {
  static const std::map<std::string, std::string> all = {{"sm90", "h100"}, {"sm100", "b200"}};
  return all;
}

std::string columns_text(const PointKind& kind) {
  std::string text;
  for (const std::string& column : kind.columns) text += (text.empty() ? "" : ",") + column;
  return text;
}

double share_within(const std::vector<double>& errors, double limit) {
  const auto within = std::count_if(errors.begin(), errors.end(), [&](double e) { return std::abs(e) <= limit; });
  return double(within) / double(errors.size());
}

}  // namespace

std::string gpu_of(const std::string& system) {
  const std::string gpu = system.substr(0, system.find('-'));
  const auto other = synonyms().find(gpu);
  return other == synonyms().end() ? gpu : other->second;
}

const HardwareSpec* PointContext::system(const std::string& name) const {
  const std::string start = gpu_of(name) + "-";
  const auto at = hardware.lower_bound(start);
  return at != hardware.end() && at->first.compare(0, start.size(), start) == 0 ? &at->second : nullptr;
}

const std::vector<PointKind>& point_kinds() {
  static const std::vector<PointKind> kinds = {
      {"collectives", {"system", "op", "gpus", "bytes"}, score_collective},
      {"expert dispatch", {"system", "library", "mode", "ranks", "tokens_per_rank"}, score_dispatch},
  };
  return kinds;
}

void score_points(const PointTable& table, const PointContext& context, PointScores& out) {
  for (const PointKind& kind : point_kinds()) {
    if (!std::all_of(kind.columns.begin(), kind.columns.end(), [&](const auto& c) { return table.has(c); })) continue;
    for (const PointTable::Line& line : table.lines) kind.score(PointRow(table, line), context, out);
    return;
  }
  std::string known;
  for (const PointKind& kind : point_kinds()) known += (known.empty() ? "" : "; ") + columns_text(kind);
  throw InputError(table.file, "line 1", "columns of no known table", "a heading with one of: " + known);
}

std::vector<PointSummary> summarize_points(const PointScores& scores, std::string PointScore::*by) {
  std::map<std::string, std::vector<double>> errors;
  for (const PointScore& s : scores.scores) errors[s.*by].push_back(s.error());
  std::vector<PointSummary> all;
  for (const auto& [name, of] : errors)
    all.push_back({summarize_errors(name, of), share_within(of, 0.15), share_within(of, 0.20), share_within(of, 0.35)});
  return all;
}

}  // namespace shardfit::validation
