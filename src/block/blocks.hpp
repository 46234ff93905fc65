// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "block/op.hpp"
#include "block/shapes.hpp"
#include "shardfit/spec/tower.hpp"

namespace shardfit::block {

/// Patches and visual tokens of one micro-batch as the tower sees them on one rank.
struct VisionLoad {
  double patches = 0;          ///< sum over images
  double patches_squared = 0;  ///< sum over attention spans (frame or image) of patches^2
  double tokens = 0;           ///< merged: what this rank's tower makes
  double images = 0;
  double spans = 0;            ///< images and temporal steps, over which attention goes
  double positions = 0;        ///< places in the pictures: frames of a clip share theirs
  double all_tokens = 0;       ///< what the decoder gets, of all context-parallel ranks' towers
  bool split_over_cp = false;  ///< each context-parallel rank runs its own images; the features are gathered
};

/// Operations of one decoder block: mixer, then MLP; either may be absent.
OpList decoder_block(const TextSpec& text, BlockRef block, const Shapes& shapes);

/// Word (and learned position) embedding of the first stage.
OpList embedding(const TextSpec& text, const Shapes& shapes);

/// Final norm, output projection and loss of the last stage. `weight_held`: false where a tied head reuses the
/// embedding of the same stage.
OpList head(const TextSpec& text, const Shapes& shapes, bool weight_held);

/// One MTP depth: its two norms, the joining projection, its inner blocks, its final norm and its own logits.
/// `first_depth`: false where a repeated layer reuses the weights of the first.
OpList mtp_layer(const TextSpec& text, const Shapes& shapes, bool first_depth);

/// The vision tower, on the first stage: no SP, no CP. `shapes` are the decoder's, with what trains in the part.
/// Its ends: the host's loops over pictures, patches to rows, norms outside its layers.
OpList vision_ends(const VisionSpec& vision, const Shapes& shapes, const VisionLoad& load, const TowerBuild& build);
/// Its layers, which recompute runs again, and inside them the DeepStack mergers: `projection` says what trains in those.
OpList vision_layers(const VisionSpec& vision, const Shapes& shapes, const Shapes& projection, const VisionLoad& load,
                     const TowerBuild& build);
/// The merger after it, and what the decoder does to take its tokens in.
OpList vision_projector(const VisionSpec& vision, const Shapes& shapes, const VisionLoad& load, const TowerBuild& build);

// The block kinds, one file each; they append to `ops`.
void append_gqa(const GqaSpec& spec, const Shapes& shapes, OpList& ops);
void append_mla(const MlaSpec& spec, const Shapes& shapes, OpList& ops);
void append_sparse_mla(const MlaSpec& spec, const Shapes& shapes, OpList& ops);  // latent attention with an indexer
void append_gated_delta_net(const GatedDeltaNetSpec& spec, const Shapes& shapes, OpList& ops);
void append_mamba2(const Mamba2Spec& spec, const Shapes& shapes, OpList& ops);
void append_compressed_mqa(const CompressedMqaSpec& spec, const Shapes& shapes, OpList& ops);
void append_dense_mlp(const DenseMlpSpec& spec, const Shapes& shapes, OpList& ops);
void append_moe(const MoeMlpSpec& spec, const Shapes& shapes, OpList& ops);

}  // namespace shardfit::block
