// SPDX-License-Identifier: Apache-2.0
#include "memory/graphs.hpp"

#include <cmath>

// Computes:   what the private pool of CUDA graphs holds beside the bytes that other terms count.
// Formula:    transformer_engine and local: tensors that captured operations save stay reserved for good,
//             so between steps the pool is captured saved tensors of all live micro-batches + the largest
//             captured transient; during forward and backward the saved ones are counted as saved.
//             transformer_engine copies its inputs: one tensor of the residual stream a captured layer and
//             live micro-batch, at all times. full_iteration: the pool is the eager peak, kept for good,
//             and grows by kCaptureGrowth because a tensor is reused only in capture order.
// Source:     Megatron-LM core/transformer/cuda_graphs.py, core/full_cuda_graph.py; Transformer Engine
//             pytorch/graph.py.
// Valid when: graphs have been captured (not in the first step).
// Ignores:    driver memory of graph nodes; attention masks copied as static inputs.
// Checked by: tests/memory/graphs_test.cpp.

namespace shardfit::memory {

namespace {

/// Growth of full-iteration capture over the eager activations. Source: Megatron-Bridge performance guide
/// ("1.5 to 2 times"), lower end, since its matched snapshot grew the whole peak by 1.39. Kind: assumed.
constexpr double kCaptureGrowth = 0.5;

}  // namespace

Bytes graph_pool_bytes(const GraphInputs& in, MemoryMoment moment, Bytes eager_activations) {
  if (in.impl == CudaGraphImpl::none) return Bytes(0);
  if (moment == MemoryMoment::after_build || moment == MemoryMoment::first_step) return Bytes(0);
  const bool idle = moment == MemoryMoment::between_steps || moment == MemoryMoment::optimizer_step;
  if (in.impl == CudaGraphImpl::full_iteration) {
    const Bytes growth(std::llround(double(eager_activations.value) * kCaptureGrowth));
    return idle ? eager_activations + growth : growth;
  }
  const Bytes inputs = in.impl == CudaGraphImpl::transformer_engine ? in.stream * in.static_inputs : Bytes(0);
  return inputs + in.graphed_transient + (idle ? in.graphed_saved : Bytes(0));
}

}  // namespace shardfit::memory
