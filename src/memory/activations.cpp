// SPDX-License-Identifier: Apache-2.0
#include "memory/activations.hpp"

#include <algorithm>

// Computes:   bytes that a block keeps from forward to backward for one micro-batch, and its largest
//             transients.
// Formula:    sum of the operations' saved tensors; selective recompute moves what its modules drop to the
//             working set of backward, full recompute all but the block's input; offload moves large
//             tensors of its scopes away.
// Source:     Megatron-LM core/transformer/transformer_block.py, core/tensor_parallel/random.py,
//             core/pipeline_parallel/fine_grained_activation_offload.py.
// Valid when: the operations come from shapes at balanced routing.
// Ignores:    tensors that recompute shares between modules; aliased storages that offload may copy twice.
// Checked by: tests/memory/activations_test.cpp.

namespace shardfit::memory {

namespace {

/// Fine-grained offload leaves tensors below 1 Mi elements where they are; two bytes an element. Source:
/// Megatron-LM min_offloaded_tensor_size. Kind: read.
constexpr std::int64_t kMinOffloadedBytes = 2 * kMiB;

bool is_offloaded(const block::Saved& s, const ProfileOptions& options) {
  return s.offload && options.offloaded.contains(*s.offload) && s.bytes.value >= kMinOffloadedBytes;
}

void add_saved(const block::Op& op, const block::Saved& s, const ProfileOptions& options, ActivationProfile& p) {
  const bool selective = options.recompute.granularity == RecomputeGranularity::selective;
  if (selective && s.dropped_by.intersects(options.recompute.modules)) {
    p.recompute_working_set += s.bytes;
    if (s.routed) p.routed_working_set += s.bytes;
    return;
  }
  if (is_offloaded(s, options)) {
    p.offloaded += s.bytes;
    return;
  }
  p.saved.add(options.fold.value_or(saved_term(op.view)), s.bytes);
  if (s.routed) p.routed += s.bytes;
  (op.scope ? p.scoped.in_scope[*op.scope] : p.scoped.without_scope) += s.bytes;
}

/// The transients of one operation live together; the dearest operation counts.
void add_transients(const block::Op& op, ActivationProfile& p) {
  Bytes forward, backward, routed_forward, routed_backward;
  for (const block::Transient& t : op.transients) {
    const bool is_forward = t.moment == block::Moment::forward;
    (is_forward ? forward : backward) += t.bytes;
    (is_forward ? routed_forward : routed_backward) += t.routed;
  }
  if (forward > p.forward_transient) p.forward_transient = forward, p.routed_forward = routed_forward;
  if (backward > p.backward_transient) p.backward_transient = backward, p.routed_backward = routed_backward;
}

void checkpoint_whole_block(const ProfileOptions& options, ActivationProfile& p) {
  p.recompute_working_set = std::max(p.saved_total() - options.block_input, Bytes(0));
  p.routed_working_set = p.routed;
  p.saved = {};
  p.saved.add(options.fold.value_or(MemoryTerm::saved_checkpoints), options.block_input);
  p.routed = Bytes(0);
  p.scoped = {};
}

}  // namespace

MemoryTerm saved_term(block::View view) {
  using block::View;
  switch (view) {
    case View::norm:
    case View::residual: return MemoryTerm::saved_norms;
    case View::attention: return MemoryTerm::saved_attention;
    case View::linear_attention:
    case View::mamba: return MemoryTerm::saved_linear_attention;
    case View::dense_mlp:
    case View::shared_expert: return MemoryTerm::saved_mlp;
    case View::router: return MemoryTerm::saved_router;
    case View::dispatch:
    case View::experts:
    case View::combine:
    case View::latent: return MemoryTerm::saved_experts;
    case View::embedding: return MemoryTerm::saved_embedding;
    case View::head: return MemoryTerm::saved_head;
    case View::mtp: return MemoryTerm::saved_mtp;
    case View::vision_encoder:
    case View::vision_projector: return MemoryTerm::saved_vision;
    case View::count: break;
  }
  return MemoryTerm::unmodelled;
}

ActivationProfile activation_profile(const block::OpList& ops, const ProfileOptions& options) {
  ActivationProfile p;
  for (const block::Op& op : ops) {
    for (const block::Saved& s : op.saved) add_saved(op, s, options, p);
    add_transients(op, p);
  }
  if (options.recompute.granularity == RecomputeGranularity::full) checkpoint_whole_block(options, p);
  return p;
}

Bytes least_saved(const block::OpList& ops) {
  Bytes sum;
  for (const block::Op& op : ops)
    for (const block::Saved& s : op.saved)
      if (s.dropped_by.empty()) sum += s.bytes;
  return sum;
}

CheckpointedLayers checkpointed_layers(const Recompute& recompute, int layers) {
  if (recompute.granularity != RecomputeGranularity::full || layers == 0) return {0, layers, 0};
  const int n = std::clamp(recompute.num_layers, 1, layers);
  if (recompute.method == RecomputeMethod::uniform) return {(layers + n - 1) / n, 0, n};
  return {n, layers - n, 1};
}

}  // namespace shardfit::memory
