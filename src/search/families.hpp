// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/search/compare.hpp"

namespace shardfit::search {

/// Whether parameters are sharded over the data-parallel ranks.
bool is_fully_sharded(Sharding sharding);

/// A search with everything safe: the smallest micro-batch, full recompute, no graphs, no overlap, no offload, the stack's
/// dispatcher. Left open: the sizes that decide whether a model fits at all (tp, pp with its split, ep, sharding).
Scenario bring_up(Scenario scenario);

/// The axes that the best layout has away from where a run starts and that matter, each with what going back on it alone
/// does. A split goes back to the most even one of the search.
std::vector<TunedKnob> tuned_knobs(const Scenario& scenario, const Estimator& estimator, const Layout& best);

/// The best layout with a frozen tower, without images, without images and with the recompute that is best then, and with
/// twice the images; nothing for a job without a tower.
std::vector<JobChange> job_changes(const Scenario& scenario, const Estimate& best);

}  // namespace shardfit::search
