// SPDX-License-Identifier: Apache-2.0
#include "search/families.hpp"

#include <algorithm>

namespace shardfit {
namespace search {

bool is_fully_sharded(Sharding s) { return s == Sharding::full || s == Sharding::full_torch; }

Scenario bring_up(Scenario s) {
  SearchSpace& space = s.space;
  space.cp = space.vpp = space.etp = {1};
  space.micro_batch_size = {*std::min_element(space.micro_batch_size.begin(), space.micro_batch_size.end())};
  space.recompute = {Recompute{RecomputeGranularity::full, {}, RecomputeMethod::uniform, 1}};
  space.optimizer_instances = {1};
  space.dispatcher = {s.base.dispatcher};
  space.cuda_graph = {CudaGraph{}};
  space.expert_alltoall_overlap = {false};
  space.optimizer_offload = {0.0};
  return s;
}

}  // namespace search

Scenario restricted(const Scenario& scenario, Family family) {
  Scenario s = scenario;
  SearchSpace& space = s.space;
  const bool fsdp = family == Family::fsdp;
  std::erase_if(space.sharding, [&](Sharding kind) { return search::is_fully_sharded(kind) != fsdp; });
  const bool torch = s.job.stack.framework == Framework::torch_fsdp2;
  if (space.sharding.empty()) space.sharding = {!fsdp ? Sharding::optimizer : torch ? Sharding::full_torch : Sharding::full};
  if (!fsdp) return s;
  space.tp = space.cp = space.pp = space.vpp = {1};
  space.split = {PipelineSplit{}};
  return s;
}

}  // namespace shardfit
