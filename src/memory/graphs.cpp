// SPDX-License-Identifier: Apache-2.0
#include "memory/graphs.hpp"

#include <cmath>

// Computes:   what CUDA graphs hold beside the bytes that other terms count: allocated, and reserved only.
// Formula:    allocated: transformer_engine copies its inputs, so each captured layer and live micro-batch
//             has a tensor of the residual stream and its attention mask; full_iteration grows by
//             kCaptureGrowth while it runs, because tensors that other streams used are not reused during
//             capture (kCaptureGrowthWithReuse where the allocator is told to). Reserved: the
//             pool never returns what captured operations saved and needed, so between steps it still has
//             saved tensors of all live micro-batches and the largest transient (full_iteration: all it
//             ever had).
// Source:     Megatron-LM core/transformer/cuda_graphs.py, core/full_cuda_graph.py; Transformer Engine
//             pytorch/graph.py; of what golden values hold between steps beyond eager runs, static inputs
//             explain 1,008 of 1,186 MiB (attention, 14 layer passes alive), 30 of 42 (scopes, 12 passes) and
//             32.5 of 34.8 (scopes, 13 passes, no pipeline).
// Valid when: graphs have been captured (not in the first step).
// Ignores:    driver memory of graph nodes; outputs that a graph hands to eager code. Torch stops counting
//             captured tensors as allocated once the capture is over, so a measured allocated peak may be
//             that of the capture.
// Checked by: tests/memory/graphs_test.cpp.

namespace shardfit::memory {

namespace {

/// Growth of full-iteration capture over the eager activations. Source: Megatron-Bridge performance guide
/// ("1.5 to 2 times"), lower end, since its matched snapshot grew the whole peak by 1.39. Kind: assumed.
constexpr double kCaptureGrowth = 0.5;
/// The same where the allocator may give a captured tensor's place away once another stream is done with it (torch's
/// graph_capture_record_stream_reuse): what is left is fragmentation. Kind: assumed.
constexpr double kCaptureGrowthWithReuse = 0.1;

bool is_captured(const GraphInputs& in, MemoryMoment moment) {
  return in.impl != CudaGraphImpl::none && moment != MemoryMoment::after_build && moment != MemoryMoment::first_step;
}

bool is_idle(MemoryMoment moment) { return moment == MemoryMoment::between_steps || moment == MemoryMoment::optimizer_step; }

Bytes growth(const GraphInputs& in, Bytes eager_activations) {
  const double share = in.stream_reuse ? kCaptureGrowthWithReuse : kCaptureGrowth;
  return Bytes(std::llround(double(eager_activations.value) * share));
}

}  // namespace

Bytes graph_pool_bytes(const GraphInputs& in, MemoryMoment moment, Bytes eager_activations) {
  if (!is_captured(in, moment)) return Bytes(0);
  switch (in.impl) {
    case CudaGraphImpl::transformer_engine: return (in.stream + in.attention_mask) * in.static_inputs;
    case CudaGraphImpl::full_iteration: return is_idle(moment) ? Bytes(0) : growth(in, eager_activations);
    default: return Bytes(0);
  }
}

Bytes graph_reserve_bytes(const GraphInputs& in, MemoryMoment moment, Bytes eager_activations) {
  if (!is_captured(in, moment)) return Bytes(0);
  if (in.impl == CudaGraphImpl::full_iteration)
    return is_idle(moment) ? eager_activations + growth(in, eager_activations) : Bytes(0);
  return in.graphed_transient + (is_idle(moment) ? in.graphed_saved : Bytes(0));
}

}  // namespace shardfit::memory
