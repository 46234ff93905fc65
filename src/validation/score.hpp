// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shardfit/estimate/estimator.hpp"
#include "validation/measured_run.hpp"

namespace shardfit::validation {

/// A measured quantity beside its prediction, in the unit of the field's name.
struct Score {
  std::string name;
  double measured = 0, predicted = 0;
  double error() const { return predicted / measured - 1; }
};

enum class RowStatus { ok, unsupported, invalid, error, count };

struct VerdictScore {
  bool measured_oom = false, predicted_oom = false;
  double p_oom = 0;
};

/// One run held against the model.
struct Row {
  std::string id;
  RowStatus status = RowStatus::ok;
  std::string reason;  ///< why it is not ok
  std::string breaks;  ///< of an ok row: the rule that refuses a setting of what ran all the same
  std::vector<Score> scores;
  std::optional<VerdictScore> verdict;  ///< where the outcome is known; unsupported rows have none
  std::optional<Estimate> estimate;     ///< of an ok row, and of an incomplete one for its relation to others
};

/// Never throws: a row that the model does not cover says so.
Row score(const MeasuredRun& run);

/// Measured numbers of a row that no score has: names that are no quantity, values that cannot be; in words.
std::vector<std::string> not_scored(const MeasuredRun& run);

}  // namespace shardfit::validation

template <>
inline constexpr std::array<std::string_view, shardfit::kCount<shardfit::validation::RowStatus>>
    shardfit::kNames<shardfit::validation::RowStatus> = {"ok", "unsupported", "invalid", "error"};
