// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "shardfit/spec/scenario.hpp"

namespace shardfit::io {

/// What "all" means for each search axis, written out for one job. Values that no layout of the job could use
/// are left out; which combinations are valid is for the layout rules to say. Each list is in ascending order
/// of effect.

/// Divisors of the GPU count that divide every attention head count and stay inside one NVLink domain.
std::vector<int> all_tp(const Job& job);
/// Divisors of the GPU count that leave at least kLeastRowTokens of a row to a rank.
std::vector<int> all_cp(const Job& job);
/// Divisors of the GPU count up to the number of layers.
std::vector<int> all_pp(const Job& job);
/// Chunk counts up to kMostChunks that divide the layers of a stage for some split and some of the given pp.
std::vector<int> all_vpp(const Job& job, const std::vector<int>& pp);
/// Divisors of both the GPU count and every expert count.
std::vector<int> all_ep(const Job& job);
/// 1 and the divisors of the GPU count up to kMostExpertTp; 1 for models without experts.
std::vector<int> all_etp(const Job& job);
/// Powers of two up to kMostMicroBatch that divide the global batch.
std::vector<int> all_micro_batch_sizes(const Job& job);
/// No recompute; each set of the selective modules that the model has, without aliases; full, uniform and
/// block.
std::vector<Recompute> all_recompute(const Job& job);
/// What the framework can shard.
std::vector<Sharding> all_sharding(const Job& job);
/// Uniform; first and last stages one or two layers short; one or both of the accounting flags.
std::vector<PipelineSplit> all_splits(const Job& job, const std::vector<int>& pp);
std::vector<Dispatcher> all_dispatchers(const Job& job);
/// None; Transformer Engine's scopes from the outside in; the full iteration.
std::vector<CudaGraph> all_cuda_graphs(const Job& job);
std::vector<bool> all_expert_overlap(const Job& job);
/// Powers of two up to kMostInstances that divide the GPU count.
std::vector<int> all_optimizer_instances(const Job& job);

}  // namespace shardfit::io
