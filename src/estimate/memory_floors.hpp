// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "estimate/evaluation.hpp"

namespace shardfit::estimate {

/// What the fullest rank of a layout needs at least, whatever its recompute and graphs: its use between steps, after the
/// build and in the optimizer, with no graph's pool.
Bytes state_floor(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid);

/// The same in forward, whatever modules are recomputed and whatever graphs there are: with what every module would leave if
/// it were recomputed. 0 where full recompute keeps less, or activations go to the host.
Bytes kept_floor(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid);

}  // namespace shardfit::estimate
