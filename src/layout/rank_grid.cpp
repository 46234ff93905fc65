// SPDX-License-Identifier: Apache-2.0
// Computes:   sizes, coordinates and groups of the dense and the expert rank grid.
// Formula:    dense W = tp*cp*dp*pp, expert W = etp*ep*edp*pp; both leftmost fastest, both with the same pp blocks.
// Source:     Megatron-LM megatron/core/parallel_state.py: initialize_model_parallel, RankGenerator.
// Valid when: the layout passes the grid rules (exact divisions).
// Ignores:    other orders (use_tp_pp_dp_mapping), weight-shard axes (GTP).
// Checked by: tests/layout/rank_grid_test.cpp (bijection, partition, hand-worked cases).
#include "shardfit/layout/rank_grid.hpp"

#include <algorithm>
#include <cassert>

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
  at.dp = rank % grid.dp;
  at.pp = rank / grid.dp;
  return at;
}

ExpertCoordinates expert_coordinates(const Layout& layout, const GridSizes& grid, int rank) {
  assert(rank >= 0 && rank < grid.gpus);
  ExpertCoordinates at{};
  at.etp = rank % layout.etp;
  rank /= layout.etp;
  at.ep = rank % layout.ep;
  rank /= layout.ep;
  at.edp = rank % grid.edp;
  at.pp = rank / grid.edp;
  return at;
}

int rank_of(const Layout& layout, const GridSizes& grid, const DenseCoordinates& at) {
  return at.tp + layout.tp * (at.cp + layout.cp * (at.dp + grid.dp * at.pp));
}

GroupShapes group_shapes(const Layout& layout, const GridSizes& grid) {
  GroupShapes shapes;
  shapes.tp = {layout.tp, 1};
  shapes.cp = {layout.cp, layout.tp};
  shapes.dp = {grid.dp, layout.tp * layout.cp};
  shapes.dp_cp = {layout.cp * grid.dp, layout.tp};
  shapes.pp = {layout.pp, grid.gpus / layout.pp};
  shapes.etp = {layout.etp, 1};
  shapes.ep = {layout.ep, layout.etp};
  shapes.tp_ep = {layout.etp * layout.ep, 1};
  shapes.edp = {grid.edp, layout.etp * layout.ep};
  return shapes;
}

std::vector<int> group_members(GroupShape shape, int rank) {
  assert(shape.size > 0 && shape.stride > 0 && rank >= 0);
  const int block = shape.size * shape.stride;
  const int first = rank / block * block + rank % shape.stride;
  std::vector<int> members(std::size_t(shape.size));
  for (int i = 0; i < shape.size; ++i) members[std::size_t(i)] = first + i * shape.stride;
  return members;
}

}  // namespace shardfit
