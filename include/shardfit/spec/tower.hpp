// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "shardfit/spec/model_dims.hpp"
#include "shardfit/spec/scenario.hpp"
#include "shardfit/spec/tower_family.hpp"

namespace shardfit {

/// How the training software builds a model's vision tower.
struct TowerBuild {
  /// Which of its layers run again in backward: those that the decoder's recompute would pick of as many, all, none.
  enum class Recompute { as_decoder, always, never };
  Recompute recompute = Recompute::as_decoder;
  bool split_over_tp = true;       ///< of Megatron's own layers; false: whole on every tensor-parallel rank
  bool written_out = false;        ///< RMSNorm and gated activations as single torch operations
  bool attention_by_span = false;  ///< torch's attention, called for each image, frame or window apart
};

/// Whether Megatron-Bridge builds a family's tower of its own layers; other towers are the published modules.
inline bool built_of_megatron_layers(const ModelSpec& model) { return tower_family(model).megatron_layers; }

/// Megatron-Bridge's own towers copy the decoder's tp and recompute; published modules run there without their gradient
/// checkpointing, with torch's attention, which takes no spans (transformers cuts the sequence up). Megatron-SWIFT runs
/// published modules only, and checkpoints those that train. Tools on torch checkpoint tower and decoder alike.
/// Source: Megatron-Bridge 067f987df models/qwen_vl/modelling_qwen3_vl/transformer_config.py, models/{qwen_vl,glm_vl,
/// kimi_vl,gemma_vl}/modeling_*.py; ms-swift's documentation of vit_gradient_checkpointing.
inline TowerBuild tower_build(const ModelSpec& model, const StackProfile& stack) {
  using Rerun = TowerBuild::Recompute;
  switch (stack.entry_point) {
    case EntryPoint::ms_swift: return {Rerun::always, false, true};
    case EntryPoint::torch_tools: return {Rerun::as_decoder, false, stack.eager_elementwise};
    case EntryPoint::megatron_bridge:
      if (built_of_megatron_layers(model)) return {};
      return {Rerun::never, false, true, tower_family(model).attention_by_span};
    default: return {};
  }
}

/// What trains in one part of a model: its own weights, adapters beside them, or nothing.
struct PartTraining {
  bool weights = false, adapters = false;
  bool any() const { return weights || adapters; }
};

/// LoRA sits on every linear of a part that is not frozen whose Megatron name is a target, the tower's and the mergers'
/// too; a tower that is no Megatron module has other names, so no adapters. The language model's names are checked with its
/// blocks. Source: Megatron-Bridge peft/module_matcher.py (names are matched all over the model).
inline PartTraining training_of(const Job& job, ModelPart part) {
  const TrainingSpec& t = job.training;
  if (t.frozen.contains(part)) return {};
  const bool sees = runs_vision(job.model, t);
  if (part != ModelPart::language_model && !sees) return {};
  if (t.task != Task::lora) return {.weights = true};
  if (part == ModelPart::language_model) return {.adapters = true};
  if (!tower_build(job.model, job.stack).split_over_tp) return {};
  const bool tower = part == ModelPart::vision_model;
  const LoraSpec lora = t.lora.value_or(LoraSpec{});
  return {.adapters = std::any_of(lora.target_modules.begin(), lora.target_modules.end(), [&](const std::string& name) {
            return name == "linear_fc1" || name == "linear_fc2" || (tower && (name == "linear_qkv" || name == "linear_proj"));
          })};
}

}  // namespace shardfit
