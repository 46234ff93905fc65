// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "shardfit/spec/coefficients.hpp"
#include "shardfit/spec/hardware.hpp"
#include "validation/point_table.hpp"
#include "validation/summary.hpp"

namespace shardfit::validation {

/// What points are predicted with: the clusters by name, and the shared coefficients.
struct PointContext {
  std::map<std::string, HardwareSpec> hardware;
  TimeCoefficients time;

  /// The cluster of a table's `system`: "h100-sxm" is h100-hgx, "gb200" gb200-nvl72. nullptr: none.
  const HardwareSpec* system(const std::string& name) const;
};

/// One measured point beside its prediction, us.
struct PointScore {
  std::string family;  ///< what limits are set on: "collectives, 1 MB and more"
  std::string group;   ///< finer: "h100-sxm all_reduce of 8"
  std::string point;   ///< names the point within the group
  double measured_us = 0, predicted_us = 0;
  double error() const { return predicted_us / measured_us - 1; }
};

/// Points of one or several tables, scored; those without a prediction are counted by reason.
struct PointScores {
  std::vector<PointScore> scores;
  std::map<std::string, int> left_out;
};

/// "h100" of "h100-sxm", "h100-hgx" and "sm90": the GPU that a table or a hardware file means.
std::string gpu_of(const std::string& system);

/// A kind of table, told by its columns. A new kind is one entry of `point_kinds` and a function.
struct PointKind {
  const char* name;
  std::vector<std::string> columns;  ///< a table that has all of them is of this kind
  void (*score)(const PointRow& row, const PointContext& context, PointScores& out);
};
const std::vector<PointKind>& point_kinds();

/// Scores every line of a table. Throws InputError for a table of no kind and for cells that are no numbers.
void score_points(const PointTable& table, const PointContext& context, PointScores& out);

/// Errors of the points of one family or group.
struct PointSummary {
  QuantitySummary errors;                              ///< `quantity` is the family's or group's name
  double within_15 = 0, within_20 = 0, within_35 = 0;  ///< share of points
};
std::vector<PointSummary> summarize_points(const PointScores& scores, std::string PointScore::*by);

// The kinds.
void score_collective(const PointRow& row, const PointContext& context, PointScores& out);
void score_dispatch(const PointRow& row, const PointContext& context, PointScores& out);

}  // namespace shardfit::validation
