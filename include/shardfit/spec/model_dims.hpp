// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "shardfit/spec/model.hpp"
#include "shardfit/spec/training.hpp"

namespace shardfit {

/// MTP depths that the run trains: the training's override, else the model's.
inline int mtp_depth(const TextSpec& text, const TrainingSpec& training) {
  if (training.mtp_layers) return *training.mtp_layers;
  return text.mtp ? text.mtp->num_layers : 0;
}

/// The inner blocks of one MTP layer: the model's, or a copy of its last layer where the run adds MTP to a model without.
inline std::vector<BlockRef> mtp_blocks(const TextSpec& text) {
  if (text.mtp && !text.mtp->blocks.empty()) return text.mtp->blocks;
  return {text.layers.back()};
}

/// Vocabulary as Megatron pads it: to a multiple of `multiple` * tp.
/// Source: Megatron-LM megatron/training/vocab_utils.py.
constexpr std::int64_t padded_vocab(std::int64_t vocab, int multiple, int tp) {
  const std::int64_t step = std::int64_t(multiple) * tp;
  return (vocab + step - 1) / step * step;
}

/// Whether any layer routes tokens to experts.
inline bool has_moe(const TextSpec& text) {
  return std::any_of(text.mlps.begin(), text.mlps.end(),
                     [](const MlpSpec& mlp) { return std::holds_alternative<MoeMlpSpec>(mlp.kind); });
}

/// Whether a run has a tower at all.
inline bool runs_vision(const ModelSpec& model, const TrainingSpec& training) {
  return model.vision.has_value() && !training.text_only;
}

}  // namespace shardfit
