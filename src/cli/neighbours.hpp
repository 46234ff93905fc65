// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "shardfit/report/views.hpp"

namespace shardfit::cli {

/// The layout that differs from `estimate`'s in one field, fits, passes the rules, and is the fastest such. If the layout
/// itself fits, only a layout that is faster by more than noise counts. Sizes are doubled and halved; other fields take
/// the values that the scenario's search lists, and a few that often help.
std::optional<Change> best_single_change(const Scenario& scenario, const Estimator& estimator, const Estimate& estimate);

/// The changes of one field that lower the fullest rank's use most, at most `count`, the largest first: of each field
/// its best value, if it saves more than noise. Whether they fit, or are slower, does not matter.
std::vector<Change> largest_memory_savings(const Scenario& scenario, const Estimator& estimator, const Estimate& estimate,
                                           std::size_t count = 3);

}  // namespace shardfit::cli
