// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shardfit/base/enum_set.hpp"
#include "shardfit/spec/precision.hpp"

namespace shardfit {

enum class Task { pretrain, sft, lora, count };
template <>
inline constexpr NameList<Task> kNames<Task> = {"pretrain", "sft", "lora"};

/// What the model's end makes: logits over the vocabulary, scores of a few labels (classifiers, reward models), or nothing but
/// the final norm's output (embedding models). Names of Hugging Face and Megatron-SWIFT.
enum class TaskType { causal_lm, seq_cls, embedding, count };
template <>
inline constexpr NameList<TaskType> kNames<TaskType> = {"causal_lm", "seq_cls", "embedding"};

enum class OptimizerKind { adam, muon, sgd, count };
template <>
inline constexpr NameList<OptimizerKind> kNames<OptimizerKind> = {"adam", "muon", "sgd"};

/// Megatron's optimizer settings; the dtypes are those of its precision-aware optimizer.
struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::adam;
  bool precision_aware = false;
  DType grad_buffer_dtype = DType::fp32;  ///< bf16 where gradients are reduced in bf16
  DType main_params_dtype = DType::fp32;
  DType main_grads_dtype = DType::fp32;
  DType exp_avg_dtype = DType::fp32;
  DType exp_avg_sq_dtype = DType::fp32;
};

enum class ModelPart { vision_model, vision_projection, language_model, count };
template <>
inline constexpr NameList<ModelPart> kNames<ModelPart> = {"vision_model", "vision_projection", "language_model"};

/// Linear layers of a block by Megatron's module names: what a LoRA adapter sits on, what a quant_recipe names.
enum class LinearModule {
  linear_qkv,
  linear_proj,
  linear_fc1,
  linear_fc2,
  linear_q_down_proj,
  linear_q_up_proj,
  linear_q_proj,
  linear_kv_down_proj,
  linear_kv_up_proj,
  in_proj,
  out_proj,
  fc1_latent_proj,
  fc2_latent_proj,
  count
};
template <>
inline constexpr NameList<LinearModule> kNames<LinearModule> = {
    "linear_qkv",       "linear_proj",     "linear_fc1",          "linear_fc2",        "linear_q_down_proj",
    "linear_q_up_proj", "linear_q_proj",   "linear_kv_down_proj", "linear_kv_up_proj", "in_proj",
    "out_proj",         "fc1_latent_proj", "fc2_latent_proj"};

/// Megatron's quant_recipe: precisions of single modules inside layers that are quantised; none: the run's.
struct QuantRecipe {
  EnumArray<LinearModule, std::optional<Precision>> modules;
  std::optional<Precision> mtp;  ///< every linear of the MTP layers ("mtp.*")
  bool empty() const {
    for (const auto& m : modules)
      if (m) return false;
    return !mtp;
  }
};

struct LoraSpec {
  int rank = 32;
  int alpha = 32;
  std::vector<std::string> target_modules = {"linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"};
};

enum class Routing { balanced, natural, count };
template <>
inline constexpr NameList<Routing> kNames<Routing> = {"balanced", "natural"};

enum class Packing { none, offline, in_batch, count };
template <>
inline constexpr NameList<Packing> kNames<Packing> = {"none", "offline", "in_batch"};

/// A size of picture in pixels, and the share of pictures that have it.
struct ImageSize {
  int width = 0, height = 0;
  double share = 1;
};

/// What one sample holds. Spreads are coefficients of variation (deviation over mean).
struct VisionWorkload {
  double images_per_sample = 1;
  double visual_tokens_per_image = 800;         ///< decoder tokens, where no sizes are given
  std::optional<double> spread;                 ///< of visual tokens per sample; none: follows from sizes and their number
  double images_spread = 0;                     ///< of the number of images of a sample
  std::vector<ImageSize> sizes;                 ///< the model's own rule gives their visual tokens
  double size_spread = 0;                       ///< of the pixel count of each size
  std::int64_t min_pixels = 0, max_pixels = 0;  ///< limits that a recipe sets; 0: the model's
  int frames = 0;                               ///< above 0: each image is a clip of so many frames
  double text_tokens = 0, text_spread = 0;      ///< of a sample; 0: not known, rows count as full
  bool mock = false;                            ///< no images reach the tower
  std::string preset;                           ///< workloads/*.json that it comes from
};

struct TrainingSpec {
  Task task = Task::pretrain;
  TaskType task_type = TaskType::causal_lm;
  Precision precision = Precision::bf16;
  bool fp8_param_gather = false, fp8_attention = false;
  bool first_last_layers_bf16 = false;  ///< with the two counts: layers that are not quantised
  int num_layers_at_start_in_bf16 = 1, num_layers_at_end_in_bf16 = 1;
  bool fp8_output_proj = false;  ///< the output projection runs in mxfp8
  QuantRecipe quant_recipe;
  int sequence_length = 4096;
  int global_batch_size = 0;
  int vocab_padding_multiple = 128;  ///< times tp; 1: no padding
  std::optional<int> mtp_layers;     ///< overrides the model's
  bool text_only = false;            ///< a vision-language model without its tower
  Routing routing = Routing::natural;
  double routing_imbalance = 0;       ///< busiest rank over mean rows; 0: by `routing` (see workload)
  double expert_capacity_factor = 0;  ///< 0: dropless
  bool pad_to_capacity = false, token_drop = false;
  double attention_dropout = 0, hidden_dropout = 0;
  OptimizerSpec optimizer;
  EnumSet<ModelPart> frozen;
  std::optional<LoraSpec> lora;
  Packing packing = Packing::none;
  double packing_efficiency = 1;  ///< real tokens over row length
  std::optional<VisionWorkload> vision;
};

}  // namespace shardfit
