// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "shardfit/spec/model.hpp"
#include "shardfit/spec/training.hpp"

namespace shardfit {

/// MTP depths that the run trains: the training's override, else the model's; none where no logits are made.
inline int mtp_depth(const TextSpec& text, const TrainingSpec& training) {
  if (training.task_type != TaskType::causal_lm) return 0;
  if (training.mtp_layers) return *training.mtp_layers;
  return text.mtp ? text.mtp->num_layers : 0;
}

/// Whether a quantised run keeps decoder layer `layer` of `layers` in bf16. Source: Megatron-LM core/fp8_utils.py:
/// is_first_last_bf16_layer, core/fp4_utils.py:get_fp4_context.
inline bool keeps_layer_in_bf16(const TrainingSpec& training, int layer, int layers) {
  return training.first_last_layers_bf16 && is_quantized(training.precision) &&
         (layer < training.num_layers_at_start_in_bf16 || layer >= layers - training.num_layers_at_end_in_bf16);
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
