// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "shardfit/spec/model.hpp"

namespace shardfit {

/// What Megatron-Bridge's model class of one family of vision-language models does: properties of code, which no field of
/// a model's file has. Every question that depends on the family is answered here and nowhere else.
struct TowerFamily {
  std::string_view family;         ///< Hugging Face's model_type; empty: a family that is not listed
  bool megatron_layers = false;    ///< the tower is built of Megatron's own layers; false: the published module
  bool attention_by_span = false;  ///< the published module calls torch's attention for each image, frame or window apart
  bool virtual_stages = true;      ///< false: the class drops vp_stage
  bool context_parallel = true;    ///< false: the class hands the decoder whole rows
  bool whole_score_bias = false;   ///< attention over images adds a bias of [s, s]
};

/// Source: Megatron-Bridge 067f987df models/qwen_vl/{qwen3_vl_provider,modelling_qwen3_vl/*}.py,
/// models/{qwen_vl,glm_vl,kimi_vl, gemma_vl}/modeling_*.py and *_provider.py. Kimi-K2.5's module asks for flash attention;
/// Gemma-3's images are of one size.
inline constexpr TowerFamily kTowerFamilies[] = {
    {.family = "qwen3_vl", .megatron_layers = true, .virtual_stages = false},
    {.family = "qwen3_vl_moe", .megatron_layers = true, .virtual_stages = false},
    {.family = "qwen3_5", .megatron_layers = true},
    {.family = "qwen3_5_moe", .megatron_layers = true},
    {.family = "qwen3_6", .megatron_layers = true},
    {.family = "qwen3_6_moe", .megatron_layers = true},
    {.family = "qwen2_5_vl", .attention_by_span = true, .context_parallel = false},
    {.family = "glm4v_moe", .attention_by_span = true, .context_parallel = false},
    {.family = "kimi_k25"},
    {.family = "gemma4"},
    {.family = "gemma3", .context_parallel = false, .whole_score_bias = true},
};

/// The family's entry; of a family that is not listed one without a name: the published module, whole on every rank.
constexpr TowerFamily tower_family(std::string_view family) {
  for (const TowerFamily& known : kTowerFamilies)
    if (known.family == family) return known;
  return {};
}
inline TowerFamily tower_family(const ModelSpec& model) { return tower_family(model.family); }

}  // namespace shardfit
