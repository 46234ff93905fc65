// SPDX-License-Identifier: Apache-2.0
// Qwen3-VL's tower and its projection, by view.
#pragma once

#include "block/blocks.hpp"
#include "mixer_fixture.hpp"
#include "op_sums.hpp"

namespace shardfit::block {

inline VisionSpec qwen3_vl() {
  VisionSpec v;
  v.depth = 27;
  v.hidden_size = 1152;
  v.num_heads = 16;
  v.head_dim = 72;
  v.intermediate_size = 4304;
  v.patch_size = 16;
  v.temporal_patch_size = 2;
  v.position_table_size = 2304;
  v.merger.intermediate_size = 4608;
  v.merger.out_hidden_size = 4096;
  v.deepstack = DeepstackSpec{{8, 16, 24}, {0, 1, 2}, v.merger};
  v.deepstack->merger.norm_after_merge = true;
  return v;
}

/// One image of 800 visual tokens.
inline constexpr VisionLoad kImage{.patches = 3200,
                                   .patches_squared = 3200.0 * 3200,
                                   .tokens = 800,
                                   .images = 1,
                                   .spans = 1,
                                   .positions = 3200,
                                   .all_tokens = 800};

/// All operations of the tower and its projection that belong to `view`.
inline OpList of_view(View view, const VisionSpec& v, const Shapes& tower, const Shapes& projection, const VisionLoad& load,
                      const TowerBuild& build) {
  OpList ops;
  for (const OpList& list : {vision_ends(v, tower, load, build), vision_layers(v, tower, projection, load, build),
                             vision_projector(v, projection, load, build)})
    for (const Op& op : list)
      if (op.view == view) ops.push_back(op);
  return ops;
}

inline OpList vision_encoder(const VisionSpec& v, const Shapes& s, const VisionLoad& load, const TowerBuild& build = {}) {
  return of_view(View::vision_encoder, v, s, s, load, build);
}

inline OpList all_projection(const VisionSpec& v, const Shapes& s, const VisionLoad& load, const TowerBuild& build = {}) {
  return of_view(View::vision_projector, v, s, s, load, build);
}

}  // namespace shardfit::block
