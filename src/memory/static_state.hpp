// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "memory/profiles.hpp"
#include "memory/whole_tensors.hpp"
#include "shardfit/spec/hardware.hpp"
#include "shardfit/spec/layout.hpp"
#include "shardfit/spec/precision.hpp"
#include "shardfit/spec/stack.hpp"
#include "shardfit/spec/training.hpp"

namespace shardfit::memory {

/// What decides weights, gradients and optimizer state of a rank.
struct StaticInputs {
  ParamCounts params;  ///< summed over everything on the stage
  Sharding sharding = Sharding::optimizer;
  int dense_shards = 1;   ///< dp*cp/instances
  int expert_shards = 1;  ///< edp/instances, at least 1. With ep = 1 and etp = tp it equals dense_shards
  Precision precision = Precision::bf16;
  bool fp8_param_gather = false;
  bool transpose_cache = true;  ///< Hopper: per-tensor fp8 weights are kept transposed too
  GpuGeneration generation = GpuGeneration::hopper;
  OptimizerSpec optimizer;
  double optimizer_offload = 0;  ///< fraction of master weights and moments in host memory
  Framework framework = Framework::megatron;
  bool shard_aligned_buffers = true;  ///< layer-wise: buffers in equal shards of whole matrices
  /// Layer-wise, where whole tensors are dealt out: what the fullest rank owns of each grid.
  std::optional<OwnedTensors> owned_dense, owned_expert;
  int tp = 1;  ///< Muon gathers a matrix over tp to orthogonalise it
};

/// Bytes of one rank.
struct StaticState {
  Bytes weights, quantized_weights, gradients, master_weights, exp_avg, exp_avg_sq;
  Bytes gradient_copy_fp32;  ///< made in the optimizer step, kept until gradients are zeroed
  Bytes optimizer_step;      ///< while the optimizer runs only
  Bytes on_host;             ///< what optimizer offload moved away
};
StaticState static_state(const StaticInputs& in);

/// Elements that one rank of `shards` holds of a distributed-optimizer buffer, and the padded length of the
/// buffer.
struct BufferShare {
  std::int64_t padded = 0, held = 0;
};
/// `elements` real ones and `gaps` lost to alignment, in one buffer whose end is a multiple of lcm(shards,
/// 128).
BufferShare buffer_share(std::int64_t elements, std::int64_t gaps, int shards);

/// Bytes of one linear weight element in the forms that a quantised run keeps.
struct QuantizedForms {
  bool keeps_bf16 = true;  ///< the bf16 weight stays beside them
  double bytes = 0;        ///< of all quantised forms together, scales included
};
QuantizedForms quantized_forms(Precision precision, bool param_gather, GpuGeneration generation, bool transpose_cache = true);

/// Adds weights, gradients, master weights and, if they exist by then, moments and the fp32 gradient copy.
template <class Acc>
void add_static(const StaticState& s, MemoryMoment moment, Acc& acc) {
  const bool moments = moment != MemoryMoment::after_build && moment != MemoryMoment::first_step;
  const bool after_step = moment == MemoryMoment::between_steps || moment == MemoryMoment::optimizer_step;
  acc.add(MemoryTerm::weights, s.weights);
  acc.add(MemoryTerm::quantized_weights, s.quantized_weights);
  acc.add(MemoryTerm::gradients, s.gradients);
  acc.add(MemoryTerm::master_weights, s.master_weights);
  if (moments) acc.add(MemoryTerm::exp_avg, s.exp_avg);
  if (moments) acc.add(MemoryTerm::exp_avg_sq, s.exp_avg_sq);
  if (after_step) acc.add(MemoryTerm::gradient_copy_fp32, s.gradient_copy_fp32);
  if (moment == MemoryMoment::optimizer_step) acc.add(MemoryTerm::optimizer_step_buffers, s.optimizer_step);
}

}  // namespace shardfit::memory
