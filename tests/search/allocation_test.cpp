// SPDX-License-Identifier: Apache-2.0
// The per-layout path of a sweep must not allocate: every operator new of this program is counted.
#include <doctest/doctest.h>

#include "allocation_counter.hpp"
#include "search/small_scenario.hpp"
#include "shardfit/search/sweep.hpp"

using namespace shardfit;
using namespace shardfit::test;

TEST_CASE("layouts of the same block shapes are evaluated without an allocation once the buffers have grown") {
  Scenario scenario = small_scenario();
  SearchSpace& s = scenario.space;  // what decides a block's shapes stays as it is; all else is open
  s.tp = {2};
  s.cp = {1};
  s.ep = {2};
  s.micro_batch_size = {1};
  s.dispatcher = {Dispatcher::alltoall};
  s.cuda_graph.push_back({CudaGraphImpl::full_iteration, {}});
  s.optimizer_instances = {1, 2};
  s.optimizer_offload = {0, 0.5};
  PipelineSplit uneven;
  uneven.kind = SplitKind::first_last;
  uneven.first_stage_layers = uneven.last_stage_layers = 1;
  s.split.push_back(uneven);
  std::vector<Layout> layouts;
  for (std::uint64_t i = 0; i < space_size(s); ++i)
    if (Layout layout = layout_at(scenario, i); all_violations(scenario.job, layout).empty()) layouts.push_back(layout);
  REQUIRE(layouts.size() > 50);

  const Estimator estimator(scenario.job);
  Estimator::Workspace workspace;
  double first = 0, second = 0;
  for (const Layout& layout : layouts) first += estimator.quick(layout, workspace).step_time_s;
  const long before = allocations();
  for (const Layout& layout : layouts) second += estimator.quick(layout, workspace).step_time_s;
  CHECK(allocations() == before);
  CHECK(first == second);
}
