// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "memory/profiles.hpp"
#include "shardfit/spec/layout.hpp"

namespace shardfit::memory {

/// What decides a profile beside the operations.
struct ProfileOptions {
  Recompute recompute;
  EnumSet<OffloadModule> offloaded;  ///< fine-grained activation offload
  Bytes block_input;                 ///< one tensor of the residual stream, [stream_tokens, hidden]
  std::optional<MemoryTerm> fold;    ///< set: every saved byte goes to this term (saved_mtp, saved_vision)
};

/// The term that a saved tensor of a module belongs to.
MemoryTerm saved_term(block::View view);

/// Sums the tensors of a block. `ops` must come from shapes with expert_load = 1: imbalance is added by
/// stage_memory.
/// - no recompute: all saved tensors;
/// - selective: without those that a chosen module drops; they return as recompute_working_set;
/// - full: the input alone (saved_checkpoints); everything else returns as recompute_working_set.
/// Tensors of an offloaded scope leave `saved` if they have at least kMinOffloadedBytes.
ActivationProfile activation_profile(const block::OpList& ops, const ProfileOptions& options);

/// What the block saves if every module is recomputed: no choice of modules saves less.
Bytes least_saved(const block::OpList& ops);

/// How full recompute splits the `layers` of one chunk.
struct CheckpointedLayers {
  int checkpoints = 0;  ///< tensors of the residual stream kept a micro-batch
  int plain = 0;        ///< layers that keep everything
  int rerun = 0;        ///< layers that backward makes again at once
};
/// uniform n: a checkpoint every n layers, n rerun at once; block n: the first n layers one by one, the rest
/// plain. Without full recompute all layers are plain. Source: Megatron-LM
/// core/transformer/transformer_block.py, _checkpointed_forward.
CheckpointedLayers checkpointed_layers(const Recompute& recompute, int layers);

}  // namespace shardfit::memory
