// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/search/compare.hpp"

namespace shardfit::search {

/// Whether parameters are sharded over the data-parallel ranks.
bool is_fully_sharded(Sharding sharding);

/// A search with everything safe: the smallest micro-batch, full recompute, no graphs, no overlap, no offload, the stack's
/// dispatcher. Left open: the sizes that decide whether a model fits at all (tp, pp with its split, ep, sharding).
Scenario bring_up(Scenario scenario);

}  // namespace shardfit::search
