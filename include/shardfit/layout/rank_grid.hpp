// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "shardfit/spec/layout.hpp"

namespace shardfit {

/// A process group as Megatron lays it on ranks: `size` members `stride` apart, repeated over the cluster. With a `run`,
/// runs of that many members follow one another `jump` apart (dp x cp where pp lies between them).
struct GroupShape {
  int size = 1, stride = 1;
  int run = 0, jump = 0;
  friend auto operator<=>(const GroupShape&, const GroupShape&) = default;
};

/// Sizes that follow from a layout on `gpus` ranks. Divisions are exact for layouts that pass the grid rules.
GridSizes grid_sizes(const Layout& layout, int gpus, int global_batch_size);

struct DenseCoordinates {
  int tp, cp, dp, pp;
};
struct ExpertCoordinates {
  int etp, ep, edp, pp;
};

/// Megatron's default order tp-cp-ep-dp-pp, leftmost fastest: rank = tp + TP*(cp + CP*(dp + DP*pp)); experts
/// rank = etp + ETP*(ep + EP*(edp + EDP*pp)). With use_tp_pp_dp_mapping dp and pp change places.
/// Source: Megatron-LM core/parallel_state.py, RankGenerator.
DenseCoordinates dense_coordinates(const Layout& layout, const GridSizes& grid, int rank);
ExpertCoordinates expert_coordinates(const Layout& layout, const GridSizes& grid, int rank);
int rank_of(const Layout& layout, const GridSizes& grid, const DenseCoordinates& at);

/// Group shapes of a layout: TP = consecutive ranks, CP strides over TP, DP over both, PP over W/pp; experts likewise.
/// `ends`: the first and the last stage of a pipeline, which share an embedding.
struct GroupShapes {
  GroupShape tp, cp, dp, dp_cp, pp, ep, etp, tp_ep, edp, ends;
};
GroupShapes group_shapes(const Layout& layout, const GridSizes& grid);

/// The slice of `instances` equal parts of a group that follow one another, and the group of the slices' equals.
/// Source: Megatron-LM core/parallel_state.py (intra and inter partial data-parallel groups).
GroupShape inner_instance(GroupShape shape, int instances);
GroupShape across_instances(GroupShape shape, int instances);

/// All members of the group of `shape` that holds `rank`, ascending. Valid for groups inside a block of size*stride ranks.
std::vector<int> group_members(GroupShape shape, int rank);

}  // namespace shardfit
