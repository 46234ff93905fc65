// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "memory/profiles.hpp"
#include "shardfit/spec/hardware.hpp"
#include "shardfit/spec/stack.hpp"

namespace shardfit::memory {

/// The small things that stay allocated between two steps. `add_small_terms` says when.
struct SmallTerms {
  Bytes workspaces;
  Bytes placeholder_weight_gradients;
  Bytes gathered_head_input;  ///< global_buffer_bytes
  Bytes kept_p2p;
  Bytes resident_microbatches;
  Bytes tp_overlap_buffers;  ///< torch workspaces of TP overlap; its user buffers are outside torch
  Bytes kept_plan;           ///< kept_plan_bytes, under expert overlap
};

/// cuBLAS workspaces of torch and Transformer Engine. `moe`: the stage has routed experts, which have workspaces of
/// their own where they are grouped. `tp`: matters for local (non-TE) layers only.
Bytes workspace_bytes(const StackProfile& stack, GpuGeneration generation, int tp, bool moe);

/// Workspaces of TP-overlap streams.
Bytes tp_overlap_workspace_bytes(const StackProfile& stack, GpuGeneration generation);

/// One 2-byte tensor per distinct shape over the stage's kinds; `head` = [V/tp, h] where the stage computes
/// logits with a trainable head (whether it owns the weight or borrows a tied one). Does not allocate. Zero
/// if the stack keeps none (`keeps_placeholders`) or gradients are not bf16-weight ones (fp32 runs).
Bytes placeholder_bytes(std::span<const WeightShapes* const> kinds, std::optional<std::pair<std::int64_t, std::int64_t>> head);
bool keeps_placeholders(const StackProfile& stack, Precision precision);

/// Megatron's global memory buffer, as large as the largest gather that uses it: [rows, hidden] of `e` bytes, rows being
/// all tokens under the head's gather (sequence parallelism) and those of the whole expert group under the dispatch of
/// the allgather dispatcher; 0 where a stage has neither.
Bytes global_buffer_bytes(std::int64_t head_rows, std::int64_t dispatched_rows, std::int64_t hidden, int e);

/// Point-to-point tensors still referenced after the step: two a chunk. 0 without a pipeline.
Bytes kept_p2p_bytes(int pp, int vpp, Bytes stream);

/// What the schedule plan of expert overlap still holds of its last micro-batch between steps, without a pipeline.
Bytes kept_plan_bytes(int pp, int layers, Bytes stream);

/// Point-to-point tensors of the last stage while it works: 2, or 3 with several chunks.
Bytes pipeline_buffer_bytes(int pp, int vpp, Bytes stream);

/// The micro-batch itself: ids, labels, masks and positions of its tokens, and the [b, s/cp, s] attention
/// mask if the loader makes one.
Bytes batch_bytes(std::int64_t tokens, std::int64_t sequence, int pp, bool attention_mask);

/// Head inputs and logit gradients that a deferred weight gradient of the head keeps, for as many
/// micro-batches as the limit of deferral lets wait (wgrad_deferral_limit; without one, all of the step).
Bytes deferred_head_bytes(std::int64_t tokens, std::int64_t hidden, std::int64_t vocab_shard, int microbatches, int e);

template <class Acc>
void add_small_terms(const SmallTerms& t, MemoryMoment moment, Acc& acc) {
  if (moment == MemoryMoment::after_build) return;  // all of them appear with the first forward or backward
  const bool idle = moment == MemoryMoment::between_steps || moment == MemoryMoment::optimizer_step;
  acc.add(MemoryTerm::workspaces, t.workspaces);
  acc.add(MemoryTerm::placeholder_weight_gradients, t.placeholder_weight_gradients);
  acc.add(MemoryTerm::gathered_head_input, t.gathered_head_input);
  acc.add(MemoryTerm::tp_overlap_buffers, t.tp_overlap_buffers);
  if (idle) acc.add(MemoryTerm::kept_p2p, t.kept_p2p + t.kept_plan);
  if (idle) acc.add(MemoryTerm::resident_microbatches, t.resident_microbatches);
}

}  // namespace shardfit::memory
