// SPDX-License-Identifier: Apache-2.0
// Computes:   sizes, coordinates and groups of the dense and the expert rank grid.
// Formula:    dense W = tp*cp*dp*pp, expert W = etp*ep*edp*pp; both leftmost fastest, both with the same pp blocks.
// Source:     Megatron-LM megatron/core/parallel_state.py: initialize_model_parallel, RankGenerator.
// Valid when: the layout passes the grid rules (exact divisions).
// Ignores:    orders beside these two, weight-shard axes (GTP).
// Checked by: tests/layout/rank_grid_test.cpp (bijection, partition, hand-worked cases).
#include "shardfit/layout/rank_grid.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace shardfit {

GridSizes grid_sizes(const Layout& layout, int gpus, int global_batch_size) {
  const auto quotient = [](std::int64_t n, std::int64_t d) { return d > 0 ? int(std::max<std::int64_t>(n / d, 1)) : 1; };
  GridSizes grid;
  grid.gpus = gpus;
  grid.dp = quotient(gpus, std::int64_t(layout.tp) * layout.cp * layout.pp);
  grid.edp = quotient(gpus, std::int64_t(layout.etp) * layout.ep * layout.pp);
  grid.microbatches = quotient(global_batch_size, std::int64_t(layout.micro_batch_size) * grid.dp);
  return grid;
}

DenseCoordinates dense_coordinates(const Layout& layout, const GridSizes& grid, int rank) {
  assert(rank >= 0 && rank < grid.gpus);
  DenseCoordinates at{};
  at.tp = rank % layout.tp;
  rank /= layout.tp;
  at.cp = rank % layout.cp;
  rank /= layout.cp;
  const bool pp_first = layout.use_tp_pp_dp_mapping;
  at.dp = pp_first ? rank / layout.pp : rank % grid.dp;
  at.pp = pp_first ? rank % layout.pp : rank / grid.dp;
  return at;
}

ExpertCoordinates expert_coordinates(const Layout& layout, const GridSizes& grid, int rank) {
  assert(rank >= 0 && rank < grid.gpus);
  ExpertCoordinates at{};
  at.etp = rank % layout.etp;
  rank /= layout.etp;
  at.ep = rank % layout.ep;
  rank /= layout.ep;
  const bool pp_first = layout.use_tp_pp_dp_mapping;
  at.edp = pp_first ? rank / layout.pp : rank % grid.edp;
  at.pp = pp_first ? rank % layout.pp : rank / grid.edp;
  return at;
}

int rank_of(const Layout& layout, const GridSizes& grid, const DenseCoordinates& at) {
  const int outer = layout.use_tp_pp_dp_mapping ? at.pp + layout.pp * at.dp : at.dp + grid.dp * at.pp;
  return at.tp + layout.tp * (at.cp + layout.cp * outer);
}

GroupShapes group_shapes(const Layout& layout, const GridSizes& grid) {
  const bool pp_first = layout.use_tp_pp_dp_mapping;
  const int model = layout.tp * layout.cp, experts = layout.etp * layout.ep;
  GroupShapes shapes;
  shapes.tp = {layout.tp, 1};
  shapes.cp = {layout.cp, layout.tp};
  shapes.dp = {grid.dp, pp_first ? model * layout.pp : model};
  shapes.dp_cp = {layout.cp * grid.dp, layout.tp};
  if (pp_first && layout.pp > 1) {
    if (layout.cp == 1)
      shapes.dp_cp = shapes.dp;
    else
      shapes.dp_cp = {layout.cp * grid.dp, layout.tp, layout.cp, model * layout.pp};
  }
  shapes.pp = {layout.pp, pp_first ? model : grid.gpus / layout.pp};
  shapes.etp = {layout.etp, 1};
  shapes.ep = {layout.ep, layout.etp};
  shapes.tp_ep = {experts, 1};
  shapes.edp = {grid.edp, pp_first ? experts * layout.pp : experts};
  shapes.ends = {std::min(2, layout.pp), std::max(1, shapes.pp.stride * (layout.pp - 1))};
  return shapes;
}

// Slices that end inside a run, without dividing it, have no constant stride: some hold pieces of three runs, others of two.
// Their shape is then the widest one, each piece in a run of its own, so that no slice spans more than it says.
GroupShape inner_instance(GroupShape shape, int instances) {
  const int size = shape.size / instances;
  if (shape.run == 0 || shape.run % size == 0) return {size, shape.stride};
  const int piece = std::gcd(size, shape.run);
  return {size, shape.stride, piece, shape.jump};
}

GroupShape across_instances(GroupShape shape, int instances) {
  const int size = shape.size / instances;
  if (shape.run == 0) return {instances, shape.stride * size};
  if (size % shape.run == 0) return {instances, shape.jump * (size / shape.run)};
  if (shape.run % size == 0) return {instances, shape.stride * size, shape.run / size, shape.jump};
  const int piece = std::gcd(size, shape.run), runs = shape.size / shape.run;
  int in_a_run = 1;  // as few as let the others lie in different runs
  while (instances % in_a_run != 0 || instances / in_a_run > runs) ++in_a_run;
  return {instances, shape.stride * piece, in_a_run, shape.jump};
}

std::vector<int> group_members(GroupShape shape, int rank) {
  assert(shape.size > 0 && shape.stride > 0 && rank >= 0);
  const int run = shape.run > 0 ? shape.run : shape.size, runs = shape.size / run;
  const int period = runs > 1 ? shape.jump : run * shape.stride;  // after which a rank of the same run follows
  const int block = rank - rank % (period * runs), within = rank % period;
  const int first = block + within - within / shape.stride % run * shape.stride;
  std::vector<int> members;
  members.reserve(std::size_t(shape.size));
  for (int j = 0; j < runs; ++j)
    for (int i = 0; i < run; ++i) members.push_back(first + j * shape.jump + i * shape.stride);
  return members;
}

}  // namespace shardfit
