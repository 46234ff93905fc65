// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "validation/score.hpp"

namespace shardfit::validation {

/// What a prediction would be if one value that the run's source does not state were another.
struct AssumedEffect {
  std::string id;
  std::string field;          ///< as in the run's `assumed` block, or the part of its images that nothing states
  std::string now, other;     ///< the value that was scored, and the one in its place
  std::string reason;         ///< why there is no prediction: the rule that the other value breaks
  std::vector<Score> scores;  ///< with the other value, of the same quantities as the row's
};

/// Every field of the run's `assumed` block, and images that are assumed, one step away from what was scored: sizes halved and
/// doubled, recompute the other kinds, gradients of the other width. Empty for a run that states everything or has no
/// scored quantity. Fields that have no such step are left out.
std::vector<AssumedEffect> vary_assumed(const MeasuredRun& run, const Row& row);

}  // namespace shardfit::validation
