// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "shardfit/report/views.hpp"

namespace shardfit::cli {

/// The layout that differs from `estimate`'s in one field, fits, passes the rules, and is the fastest such. If the layout
/// itself fits, only a layout that is faster by more than noise counts. Sizes are doubled and halved; other fields take
/// the values that the scenario's search lists, and a few that often help.
std::optional<Change> best_single_change(const Scenario& scenario, const Estimator& estimator, const Estimate& estimate);

}  // namespace shardfit::cli
