// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "shardfit/spec/layout.hpp"

namespace shardfit {

/// A process group as Megatron lays it on ranks: `size` members `stride` apart, repeated over the cluster.
struct GroupShape {
  int size = 1, stride = 1;
  friend auto operator<=>(const GroupShape&, const GroupShape&) = default;
};

/// Sizes that follow from a layout on `gpus` ranks. Divisions are exact for layouts that pass the grid rules.
GridSizes grid_sizes(const Layout& layout, int gpus, int global_batch_size);

struct DenseCoordinates { int tp, cp, dp, pp; };
struct ExpertCoordinates { int etp, ep, edp, pp; };

/// Megatron's default order tp-cp-ep-dp-pp, leftmost fastest: rank = tp + TP*(cp + CP*(dp + DP*pp)); experts
/// rank = etp + ETP*(ep + EP*(edp + EDP*pp)). Source: Megatron-LM core/parallel_state.py, RankGenerator.
DenseCoordinates dense_coordinates(const Layout& layout, const GridSizes& grid, int rank);
ExpertCoordinates expert_coordinates(const Layout& layout, const GridSizes& grid, int rank);
int rank_of(const Layout& layout, const GridSizes& grid, const DenseCoordinates& at);

/// Group shapes of a layout: TP = consecutive ranks, CP strides over TP, DP over both, PP over W/pp; experts likewise.
struct GroupShapes {
  GroupShape tp, cp, dp, dp_cp, pp, ep, etp, tp_ep, edp;
};
GroupShapes group_shapes(const Layout& layout, const GridSizes& grid);

/// All members of the group of `shape` that holds `rank`, ascending. Valid for groups inside a block of size*stride ranks.
std::vector<int> group_members(GroupShape shape, int rank);

}  // namespace shardfit
