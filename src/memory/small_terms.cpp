// SPDX-License-Identifier: Apache-2.0
#include "memory/small_terms.hpp"

#include <algorithm>

// Computes:   the small things that stay allocated between two steps, and the tensors at a stage's edges.
// Formula:    written at each function.
// Source:     Megatron-LM's golden memory values (exact multiples, h100 and gb200, 2026-08) tied to code:
//             Transformer Engine pytorch/module/base.py (get_dummy_wgrad, get_cublas_workspace),
//             Megatron-LM core/tensor_parallel/layers.py (global memory buffer),
//             core/pipeline_parallel/schedules.py.
// Valid when: the first step is over.
// Ignores:    rounding of the allocator (512 B; up to 1 MiB a tensor of more than 1 MiB without expandable
//             segments).
// Checked by: tests/memory/small_terms_test.cpp.

namespace shardfit::memory {

namespace {

/// One cuBLAS workspace of torch, of which the forward and the autograd thread have one each: 32 MiB since
/// Hopper, before that 8.125. Source: torch aten/src/ATen/cuda/CUDABlas.cpp. Kind: read.
constexpr double kTorchWorkspaceMib = 32, kTorchWorkspaceAmpereMib = 8.125;
/// Transformer Engine's: 32 MiB since Hopper, 4 before. Source: Transformer Engine
/// get_cublas_workspace_size_bytes. Kind: read.
constexpr double kTeWorkspaceMib = 32, kTeWorkspaceAmpereMib = 4;
/// Local layers without tensor parallelism use four torch workspaces. Source: golden values of mcore_tp1_*
/// runs. Kind: measured.
constexpr int kLocalWorkspaces = 4;
/// Streams of grouped GEMM, each with a workspace. Source: Transformer Engine _NUM_MAX_CUBLAS_STREAMS. Kind:
/// read.
constexpr int kGroupedStreams = 4;
/// Streams of userbuffers GEMM, each with a workspace. Source: Transformer Engine _NUM_MAX_UB_STREAMS;
/// explains 96 of 98 MiB in gpt3_15b_8t_release_sm_gb200. Kind: read.
constexpr int kUserBufferStreams = 3;

constexpr std::int64_t kPlaceholderBytes = 2;
/// Tensors of the residual stream that a layer's schedule plan still holds when the step is over. Source: golden values
/// of gpt3_mcore_te_tp2_pp1_te_a2a_ovlp_8experts_etp1_ep4 (4 runs: 48 MiB, 12 layers of 2 MiB), of which runs with a
/// pipeline show nothing. Kind: measured, counted.
constexpr int kKeptOfPlan = 2;

/// Bytes a token of the micro-batch: ids, labels and positions as int64 and the fp32 loss mask; a stage that
/// only computes the loss holds labels and mask. Source: Megatron-LM training/utils
/// get_batch_on_this_tp_rank. Kind: read.
constexpr std::int64_t kBatchBytes = 28, kLabelBytes = 12;

/// Transformer Engine keeps one workspace a device, whoever asks for it. `te_workspace_mib` of a stack is what its layers take;
/// Megatron's router multiplies by Transformer Engine's GEMM in local layers too. Source: Megatron-LM
/// core/transformer/moe/moe_utils.py (RouterGatingLinearFunction); golden values of local layers with experts, which
/// differ by 28 MiB between H100 and A100 as that workspace does.
double te_workspace_mib(const StackProfile& stack, GpuGeneration generation, bool moe) {
  const double own = generation == GpuGeneration::ampere ? kTeWorkspaceAmpereMib : kTeWorkspaceMib;
  if (stack.transformer_engine) return stack.te_workspace_mib.value_or(own);
  const bool routes = moe && stack.framework == Framework::megatron;
  return std::max(stack.te_workspace_mib.value_or(0), routes ? own : 0);
}

double torch_workspace_mib(const StackProfile& stack, GpuGeneration generation, int tp) {
  if (stack.torch_cublas_workspace_mib) return *stack.torch_cublas_workspace_mib;
  const double one = generation == GpuGeneration::ampere ? kTorchWorkspaceAmpereMib : kTorchWorkspaceMib;
  return one * (!stack.transformer_engine && tp == 1 ? kLocalWorkspaces : 2);
}

bool contains(const WeightShapes& shapes, const std::pair<std::int64_t, std::int64_t>& shape) {
  return std::binary_search(shapes.begin(), shapes.end(), shape);
}

}  // namespace

Bytes workspace_bytes(const StackProfile& stack, GpuGeneration generation, int tp, bool moe) {
  const double te = te_workspace_mib(stack, generation, moe);
  const double experts = stack.grouped_gemm_workspace_mib.value_or(moe && stack.grouped_gemm ? kGroupedStreams * te : 0);
  return mib(torch_workspace_mib(stack, generation, tp)) + mib(te) + mib(experts);
}

Bytes tp_overlap_workspace_bytes(const StackProfile& stack, GpuGeneration generation) {
  return mib(kUserBufferStreams * te_workspace_mib(stack, generation, false));
}

bool keeps_placeholders(const StackProfile& stack, Precision precision) {
  const bool keeps = stack.placeholder_weight_grads.value_or(stack.grad_accumulation_fusion);
  return keeps && bytes_of(activation_dtype(precision)) == kPlaceholderBytes;
}

Bytes placeholder_bytes(std::span<const WeightShapes* const> kinds, std::optional<std::pair<std::int64_t, std::int64_t>> head) {
  std::int64_t elements = 0;
  bool head_seen = false;
  for (std::size_t k = 0; k < kinds.size(); ++k)
    for (const auto& shape : *kinds[k]) {
      const bool seen = std::any_of(kinds.begin(), kinds.begin() + std::ptrdiff_t(k),
                                    [&](const WeightShapes* earlier) { return contains(*earlier, shape); });
      if (!seen) elements += shape.first * shape.second;
      if (head && shape == *head) head_seen = true;
    }
  if (head && !head_seen) elements += head->first * head->second;
  return Bytes(kPlaceholderBytes * elements);
}

Bytes global_buffer_bytes(std::int64_t head_rows, std::int64_t dispatched_rows, std::int64_t hidden, int e) {
  return Bytes(std::max(head_rows, dispatched_rows) * hidden * e);
}

Bytes kept_p2p_bytes(int pp, int vpp, Bytes stream) { return pp > 1 ? stream * (2 * vpp) : Bytes(0); }

Bytes kept_plan_bytes(int pp, int layers, Bytes stream) { return pp == 1 ? stream * (kKeptOfPlan * layers) : Bytes(0); }

Bytes pipeline_buffer_bytes(int pp, int vpp, Bytes stream) {
  if (pp == 1) return Bytes(0);
  return stream * (vpp > 1 ? 3 : 2);
}

Bytes batch_bytes(std::int64_t tokens, std::int64_t sequence, int pp, bool attention_mask) {
  return Bytes(tokens * (pp == 1 ? kBatchBytes : kLabelBytes) + (attention_mask ? tokens * sequence : 0));
}

Bytes deferred_head_bytes(std::int64_t tokens, std::int64_t hidden, std::int64_t vocab_shard, int deferred, int e) {
  return Bytes(deferred * tokens * (hidden + vocab_shard) * e);
}

}  // namespace shardfit::memory
