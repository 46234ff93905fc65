// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/base/names.hpp"

namespace shardfit {

/// Every byte of a rank belongs to one of these.
enum class MemoryTerm {
  // between steps
  weights,
  quantized_weights,
  gradients,
  master_weights,
  exp_avg,
  exp_avg_sq,
  gradient_copy_fp32,
  placeholder_weight_gradients,
  workspaces,
  gathered_head_input,
  kept_p2p,
  resident_microbatches,
  tp_overlap_buffers,
  // forward and backward
  saved_attention,
  saved_linear_attention,
  saved_mlp,
  saved_experts,
  saved_router,
  saved_norms,
  saved_checkpoints,
  saved_embedding,
  saved_mtp,
  saved_vision,
  saved_head,
  routing_imbalance,
  pipeline_buffers,
  batch,
  // moments
  logits,
  recompute_working_set,
  backward_buffers,
  forward_buffers,
  embedding_gradient,
  optimizer_step_buffers,
  fsdp_unsharded_weights,
  fsdp_unreduced_gradients,
  // graphs
  graph_pool,
  // outside allocated
  allocator_reserve,
  graph_reserve,
  cuda_context,
  nccl_buffers,
  dispatcher_buffers,
  user_buffers,
  unmodelled,
  count
};
template <>
inline constexpr NameList<MemoryTerm> kNames<MemoryTerm> = {
    "weights",
    "quantized_weights",
    "gradients",
    "master_weights",
    "exp_avg",
    "exp_avg_sq",
    "gradient_copy_fp32",
    "placeholder_weight_gradients",
    "workspaces",
    "gathered_head_input",
    "kept_p2p",
    "resident_microbatches",
    "tp_overlap_buffers",
    "saved_attention",
    "saved_linear_attention",
    "saved_mlp",
    "saved_experts",
    "saved_router",
    "saved_norms",
    "saved_checkpoints",
    "saved_embedding",
    "saved_mtp",
    "saved_vision",
    "saved_head",
    "routing_imbalance",
    "pipeline_buffers",
    "batch",
    "logits",
    "recompute_working_set",
    "backward_buffers",
    "forward_buffers",
    "embedding_gradient",
    "optimizer_step_buffers",
    "fsdp_unsharded_weights",
    "fsdp_unreduced_gradients",
    "graph_pool",
    "allocator_reserve",
    "graph_reserve",
    "cuda_context",
    "nccl_buffers",
    "dispatcher_buffers",
    "user_buffers",
    "unmodelled",
};

/// The first of the terms that torch does not allocate.
constexpr bool is_outside_torch(MemoryTerm t) { return t >= MemoryTerm::allocator_reserve; }

/// When a stage's bytes are counted.
enum class MemoryMoment { after_build, between_steps, forward, backward, optimizer_step, first_step, count };
template <>
inline constexpr NameList<MemoryMoment> kNames<MemoryMoment> = {"after_build", "between_steps",  "forward",
                                                                "backward",    "optimizer_step", "first_step"};

/// Every microsecond of a step belongs to one of these. Exposed time only: what hides is beside it, not in it.
enum class TimeTerm {
  gemm,
  experts,
  attention,
  scan,
  memory_bound,
  quantize,
  kernel_gaps,
  recompute,
  tensor_parallel,
  expert_parallel,
  context_parallel,
  overlap_slowdown,
  dispatcher_sync,
  host,
  vision,
  pipeline_p2p,
  pipeline_bubble,
  data_parallel,
  optimizer,
  offload,
  step_overhead,
  count
};
template <>
inline constexpr NameList<TimeTerm> kNames<TimeTerm> = {
    "gemm",
    "experts",
    "attention",
    "scan",
    "memory_bound",
    "quantize",
    "kernel_gaps",
    "recompute",
    "tensor_parallel",
    "expert_parallel",
    "context_parallel",
    "overlap_slowdown",
    "dispatcher_sync",
    "host",
    "vision",
    "pipeline_p2p",
    "pipeline_bubble",
    "data_parallel",
    "optimizer",
    "offload",
    "step_overhead",
};

}  // namespace shardfit
