// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compute/sample_job.hpp"
#include "layout/jobs.hpp"

namespace shardfit::test {

/// The small MoE decoder of the rules' tests on 16 GPUs of round rates, with a search over a few values of most axes.
inline Scenario small_scenario() {
  Scenario scenario;
  const Job rated = compute::sample_job();
  Job job = moe_job();
  job.time = rated.time;
  for (auto& coefficient : job.time.values)
    if (coefficient.value == 0) coefficient.value = 0.5;  // those that the kernels' tests leave out
  job.hardware = rated.hardware;
  job.hardware.gpu.memory_usable_gib.value = 80;
  job.hardware.node.host_link_gb_per_s.value = 50;
  FabricSpec& fabric = job.hardware.fabric;
  fabric.nvlink_gb_per_s.value = 400;
  fabric.nvlink_latency_us.value = 2;
  fabric.nic_gb_per_s.value = fabric.nic_alltoall_gb_per_s.value = 50;
  fabric.nic_latency_us.value = 5;
  fabric.oversubscription.value = 1;
  scenario.job = job;
  scenario.base.sequence_parallel = scenario.sequence_parallel_above_tp_1 = true;
  SearchSpace& s = scenario.space;
  s.tp = {1, 2, 4};
  s.cp = {1, 2};
  s.ep = {1, 2, 4};
  s.micro_batch_size = {1, 2, 4};
  s.dispatcher = {Dispatcher::alltoall, Dispatcher::allgather};
  s.pp = {1, 2, 4};
  s.vpp = {1, 2};
  s.sharding = {Sharding::optimizer, Sharding::full};
  Recompute act;
  act.granularity = RecomputeGranularity::selective;
  act.modules = {RecomputeModule::moe_act};
  s.recompute = {Recompute{}, act};
  s.expert_alltoall_overlap = {false, true};
  return scenario;
}

}  // namespace shardfit::test
