// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "shardfit/spec/coefficients.hpp"
#include "shardfit/spec/hardware.hpp"
#include "shardfit/spec/layout.hpp"
#include "shardfit/spec/model.hpp"
#include "shardfit/spec/stack.hpp"
#include "shardfit/spec/training.hpp"

namespace shardfit {

/// The values each axis may take. An axis that the scenario fixes has one value; "all" is written out when the scenario
/// is read (divisors of the GPU count, module subsets that the model has, ...). Order is the order of enumeration.
struct SearchSpace {
  std::vector<int> tp{1}, cp{1}, pp{1}, vpp{1}, ep{1}, etp{1}, micro_batch_size{1};
  std::vector<Recompute> recompute{Recompute{}};
  std::vector<Sharding> sharding{Sharding::optimizer};
  std::vector<int> optimizer_instances{1};
  std::vector<PipelineSplit> split{PipelineSplit{}};
  std::vector<Dispatcher> dispatcher{Dispatcher::alltoall};
  std::vector<CudaGraph> cuda_graph{CudaGraph{}};
  std::vector<bool> expert_alltoall_overlap{false};
  std::vector<double> optimizer_offload{0.0};
  std::vector<CpCommType> cp_comm_type{CpCommType::p2p};
};

/// Everything about a run but the layout.
struct Job {
  ModelSpec model;
  HardwareSpec hardware;
  int gpus = 1;
  TrainingSpec training;
  StackProfile stack;
  TimeCoefficients time;
};

/// A scenario file: a job, and the layouts asked about. `base` holds the fields of a layout that are no search axis; a
/// fixed layout is a space of one.
struct Scenario {
  std::string name, file;
  Job job;
  Layout base;
  bool sequence_parallel_above_tp_1 = false;  ///< what every layout of tp above 1 gets; base has it where its own tp is
  SearchSpace space;
  std::vector<std::string> assumptions;  ///< what was not stated and how to state it; printed as warnings
};

}  // namespace shardfit
