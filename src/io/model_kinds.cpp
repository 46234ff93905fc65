// SPDX-License-Identifier: Apache-2.0
#include "io/model_kinds.hpp"

#include <algorithm>

namespace shardfit::io {
namespace {

void add_mixer(ModelKinds& kinds, const MixerKind& mixer) {
  if (std::holds_alternative<Mamba2Spec>(mixer))
    kinds.mamba = true;
  else if (std::holds_alternative<GatedDeltaNetSpec>(mixer))
    kinds.gated_delta_net = true;
  else
    kinds.attention = true;
  if (std::holds_alternative<MlaSpec>(mixer)) kinds.mla = true;
}

void add_mlp(ModelKinds& kinds, const MlpKind& mlp) {
  if (const auto* moe = std::get_if<MoeMlpSpec>(&mlp)) {
    kinds.moe = true;
    kinds.most_experts = std::max(kinds.most_experts, moe->num_experts);
    if (moe->shared_expert) kinds.shared_experts = true;
  } else {
    kinds.dense_mlp = true;
  }
}

}  // namespace

ModelKinds kinds_of(const ModelSpec& model) {
  ModelKinds kinds;
  std::vector<BlockRef> blocks = model.text.layers;
  if (model.text.mtp) blocks.insert(blocks.end(), model.text.mtp->blocks.begin(), model.text.mtp->blocks.end());
  for (const BlockRef& b : blocks) {
    if (b.mixer >= 0) add_mixer(kinds, model.text.mixers[std::size_t(b.mixer)].kind);
    if (b.mlp >= 0) add_mlp(kinds, model.text.mlps[std::size_t(b.mlp)].kind);
  }
  return kinds;
}

}  // namespace shardfit::io
