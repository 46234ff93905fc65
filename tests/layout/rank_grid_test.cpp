// SPDX-License-Identifier: Apache-2.0
#include "shardfit/layout/rank_grid.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <tuple>

using namespace shardfit;

namespace {

Layout layout_of(int tp, int cp, int pp, int ep, int etp) {
  Layout layout;
  layout.tp = tp;
  layout.cp = cp;
  layout.pp = pp;
  layout.ep = ep;
  layout.etp = etp;
  return layout;
}

Layout pp_before_dp(Layout layout) {
  layout.use_tp_pp_dp_mapping = true;
  return layout;
}

/// Grids of 64 ranks that divide exactly, dense and expert side unlike; in the other order the two have the same stages.
std::vector<Layout> grids_of_64() {
  return {layout_of(2, 2, 2, 8, 1),
          layout_of(1, 1, 1, 64, 1),
          layout_of(8, 1, 4, 2, 2),
          layout_of(1, 4, 2, 4, 4),
          layout_of(4, 2, 1, 16, 2),
          pp_before_dp(layout_of(2, 2, 2, 4, 1)),
          pp_before_dp(layout_of(4, 1, 4, 2, 2)),
          pp_before_dp(layout_of(1, 4, 8, 2, 2)),
          pp_before_dp(layout_of(2, 2, 1, 8, 1))};
}

}  // namespace

TEST_CASE("sizes of a hand-worked grid: 64 ranks, tp2 cp2 pp2 ep8 etp1, batch 128 of 2") {
  Layout layout = layout_of(2, 2, 2, 8, 1);
  layout.micro_batch_size = 2;
  const GridSizes grid = grid_sizes(layout, 64, 128);
  CHECK(grid.dp == 8);            // 64 / (2*2*2)
  CHECK(grid.edp == 4);           // 64 / (1*8*2)
  CHECK(grid.microbatches == 8);  // 128 / (2*8)
}

TEST_CASE("coordinates of hand-worked ranks") {
  const Layout layout = layout_of(2, 2, 2, 8, 1);
  const GridSizes grid = grid_sizes(layout, 64, 64);
  // 45 = 1 + 2*(0 + 2*(3 + 8*1))
  const DenseCoordinates dense = dense_coordinates(layout, grid, 45);
  CHECK(std::tie(dense.tp, dense.cp, dense.dp, dense.pp) == std::tuple(1, 0, 3, 1));
  // 45 = 0 + 1*(5 + 8*(1 + 4*1))
  const ExpertCoordinates expert = expert_coordinates(layout, grid, 45);
  CHECK(std::tie(expert.etp, expert.ep, expert.edp, expert.pp) == std::tuple(0, 5, 1, 1));
}

TEST_CASE("the dense grid is a bijection and both grids put a rank on the same stage") {
  for (const Layout& layout : grids_of_64()) {
    const GridSizes grid = grid_sizes(layout, 64, 64);
    std::set<std::tuple<int, int, int, int>> dense_seen, expert_seen;
    for (int rank = 0; rank < 64; ++rank) {
      const DenseCoordinates at = dense_coordinates(layout, grid, rank);
      const ExpertCoordinates ex = expert_coordinates(layout, grid, rank);
      CHECK(rank_of(layout, grid, at) == rank);
      CHECK(at.tp < layout.tp);
      CHECK(at.cp < layout.cp);
      CHECK(at.dp < grid.dp);
      CHECK(at.pp < layout.pp);
      CHECK(ex.edp < grid.edp);
      CHECK(at.pp == ex.pp);
      dense_seen.insert({at.tp, at.cp, at.dp, at.pp});
      expert_seen.insert({ex.etp, ex.ep, ex.edp, ex.pp});
    }
    CHECK(dense_seen.size() == 64);
    CHECK(expert_seen.size() == 64);
  }
}

TEST_CASE("the groups of each kind partition the ranks") {
  for (const Layout& layout : grids_of_64()) {
    const GridSizes grid = grid_sizes(layout, 64, 64);
    const GroupShapes s = group_shapes(layout, grid);
    for (const GroupShape& shape : {s.tp, s.cp, s.dp, s.dp_cp, s.pp, s.ep, s.etp, s.tp_ep, s.edp}) {
      std::set<std::vector<int>> groups;
      for (int rank = 0; rank < 64; ++rank) {
        const std::vector<int> members = group_members(shape, rank);
        CHECK(int(members.size()) == shape.size);
        CHECK(std::count(members.begin(), members.end(), rank) == 1);
        groups.insert(members);
      }
      std::set<int> covered;
      for (const std::vector<int>& group : groups) covered.insert(group.begin(), group.end());
      CHECK(covered.size() == 64);
      CHECK(int(groups.size()) * shape.size == 64);
    }
  }
}

TEST_CASE("members differ in exactly the coordinate that the group is along") {
  const Layout layout = layout_of(2, 2, 2, 4, 2);
  const GridSizes grid = grid_sizes(layout, 64, 64);
  const GroupShapes shapes = group_shapes(layout, grid);
  for (int rank : {0, 17, 45, 63}) {
    const DenseCoordinates at = dense_coordinates(layout, grid, rank);
    for (int other : group_members(shapes.cp, rank)) {
      const DenseCoordinates o = dense_coordinates(layout, grid, other);
      CHECK(std::tie(o.tp, o.dp, o.pp) == std::tie(at.tp, at.dp, at.pp));
    }
    for (int other : group_members(shapes.dp, rank)) {
      const DenseCoordinates o = dense_coordinates(layout, grid, other);
      CHECK(std::tie(o.tp, o.cp, o.pp) == std::tie(at.tp, at.cp, at.pp));
    }
    for (int other : group_members(shapes.pp, rank)) {
      const DenseCoordinates o = dense_coordinates(layout, grid, other);
      CHECK(std::tie(o.tp, o.cp, o.dp) == std::tie(at.tp, at.cp, at.dp));
    }
    const ExpertCoordinates ex = expert_coordinates(layout, grid, rank);
    for (int other : group_members(shapes.ep, rank)) {
      const ExpertCoordinates o = expert_coordinates(layout, grid, other);
      CHECK(std::tie(o.etp, o.edp, o.pp) == std::tie(ex.etp, ex.edp, ex.pp));
    }
    for (int other : group_members(shapes.edp, rank)) {
      const ExpertCoordinates o = expert_coordinates(layout, grid, other);
      CHECK(std::tie(o.etp, o.ep, o.pp) == std::tie(ex.etp, ex.ep, ex.pp));
    }
  }
}

TEST_CASE("expert groups are consecutive ranks, etp apart; they fold over tp, cp and dp") {
  const Layout layout = layout_of(2, 2, 2, 4, 2);
  const GridSizes grid = grid_sizes(layout, 64, 64);
  const GroupShapes shapes = group_shapes(layout, grid);
  CHECK(group_members(shapes.ep, 11) == std::vector{9, 11, 13, 15});
  CHECK(group_members(shapes.tp_ep, 11) == std::vector{8, 9, 10, 11, 12, 13, 14, 15});
  CHECK(group_members(shapes.etp, 11) == std::vector{10, 11});
  CHECK(group_members(shapes.edp, 11) == std::vector{3, 11, 19, 27});
  CHECK(group_members(shapes.tp, 11) == std::vector{10, 11});
  CHECK(group_members(shapes.cp, 11) == std::vector{9, 11});
  CHECK(group_members(shapes.pp, 11) == std::vector{11, 43});
}

TEST_CASE("with tp-cp-ep-pp-dp stages lie inside a replica: 64 ranks, tp2 cp2 pp2") {
  const Layout layout = pp_before_dp(layout_of(2, 2, 2, 4, 1));
  const GroupShapes shapes = group_shapes(layout, grid_sizes(layout, 64, 64));
  CHECK(group_members(shapes.pp, 11) == std::vector{11, 15});
  CHECK(group_members(shapes.dp, 3) == std::vector{3, 11, 19, 27, 35, 43, 51, 59});
  CHECK(group_members(shapes.dp_cp, 12) == std::vector{4, 6, 12, 14, 20, 22, 28, 30, 36, 38, 44, 46, 52, 54, 60, 62});
  CHECK(group_members(shapes.ep, 14) == std::vector{12, 13, 14, 15});
  CHECK(group_members(shapes.edp, 3) == std::vector{3, 11, 19, 27, 35, 43, 51, 59});
  CHECK(group_members(shapes.ends, 9) == std::vector{9, 13});
  // Two optimizer instances: halves of the dp x cp list, and pairs of equals.
  CHECK(group_members(inner_instance(shapes.dp_cp, 2), 12) == std::vector{4, 6, 12, 14, 20, 22, 28, 30});
  CHECK(group_members(across_instances(shapes.dp_cp, 2), 12) == std::vector{12, 44});
}

TEST_CASE("instances smaller than a run of cp are joined across stages' ranks too: 64 ranks, tp2 cp4 pp2, 8 instances") {
  const Layout layout = pp_before_dp(layout_of(2, 4, 2, 1, 1));
  const GroupShape all = group_shapes(layout, grid_sizes(layout, 64, 64)).dp_cp;
  CHECK(group_members(all, 0) == std::vector{0, 2, 4, 6, 16, 18, 20, 22, 32, 34, 36, 38, 48, 50, 52, 54});
  CHECK(group_members(inner_instance(all, 8), 20) == std::vector{20, 22});
  CHECK(group_members(across_instances(all, 8), 20) == std::vector{0, 4, 16, 20, 32, 36, 48, 52});
}

TEST_CASE("instances that end inside a run of cp: no slice spans more runs than its shape") {
  // cp 4, pp 2 between cp and dp 3: runs of 4 ranks, 8 apart. Halves are 0-3 8 9 and 10 11 16-19.
  const GroupShape group{12, 1, 4, 8};
  CHECK(inner_instance(group, 2) == GroupShape{6, 1, 2, 8});    // three runs, where the slices have two
  CHECK(across_instances(group, 2) == GroupShape{2, 2, 1, 8});  // 0 and 10: two runs
  // cp 6, dp 4, three slices of 8; cp 4, dp 6, eight slices of 3.
  for (const auto& [shape, instances] : {std::pair{GroupShape{24, 1, 6, 12}, 3}, std::pair{GroupShape{24, 1, 4, 8}, 8}}) {
    const int runs = shape.size / shape.run;
    for (const GroupShape& part : {inner_instance(shape, instances), across_instances(shape, instances)}) {
      CAPTURE(part.size);
      const int run = part.run > 0 ? part.run : part.size;
      CHECK(part.size % run == 0);
      CHECK(part.size / run <= runs);
    }
    CHECK(inner_instance(shape, instances).size * instances == shape.size);
    CHECK(across_instances(shape, instances).size == instances);
  }
}
