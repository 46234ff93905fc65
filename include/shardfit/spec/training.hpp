// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shardfit/spec/precision.hpp"

namespace shardfit {

enum class Task { pretrain, sft, lora, count };
template <>
inline constexpr std::array<std::string_view, kCount<Task>> kNames<Task> = {"pretrain", "sft", "lora"};

enum class OptimizerKind { adam, muon, sgd, count };
template <>
inline constexpr std::array<std::string_view, kCount<OptimizerKind>> kNames<OptimizerKind> = {"adam", "muon", "sgd"};

/// Megatron's optimizer settings; the dtypes are those of its precision-aware optimizer.
struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::adam;
  bool precision_aware = false;
  DType grad_buffer_dtype = DType::fp32;   ///< bf16 where gradients are reduced in bf16
  DType main_params_dtype = DType::fp32;
  DType main_grads_dtype = DType::fp32;
  DType exp_avg_dtype = DType::fp32;
  DType exp_avg_sq_dtype = DType::fp32;
};

enum class ModelPart { vision_model, vision_projection, language_model, count };
template <>
inline constexpr std::array<std::string_view, kCount<ModelPart>> kNames<ModelPart> = {
    "vision_model", "vision_projection", "language_model"};

struct LoraSpec {
  int rank = 32;
  int alpha = 32;
  std::vector<std::string> target_modules = {"linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"};
};

enum class Routing { balanced, natural, count };
template <>
inline constexpr std::array<std::string_view, kCount<Routing>> kNames<Routing> = {"balanced", "natural"};

enum class Packing { none, offline, in_batch, count };
template <>
inline constexpr std::array<std::string_view, kCount<Packing>> kNames<Packing> = {"none", "offline", "in_batch"};

/// What one sample holds of images.
struct VisionWorkload {
  double images_per_sample = 1;
  double visual_tokens_per_image = 800;    ///< decoder tokens; patches are merge_size^2 times as many
  double spread = 0.8;                     ///< coefficient of variation of visual tokens per sample
  int image_width = 0, image_height = 0;   ///< pixels; above 0: the model's own rule gives the visual tokens
  bool mock = false;                       ///< no images reach the tower
};

struct TrainingSpec {
  Task task = Task::pretrain;
  Precision precision = Precision::bf16;
  bool fp8_param_gather = false, fp8_attention = false, first_last_layers_bf16 = false;
  int sequence_length = 4096;
  int global_batch_size = 0;
  int vocab_padding_multiple = 128;        ///< times tp; 1: no padding
  std::optional<int> mtp_layers;           ///< overrides the model's
  bool text_only = false;                  ///< a vision-language model without its tower
  Routing routing = Routing::natural;
  double routing_imbalance = 0;            ///< busiest rank over mean rows; 0: by `routing` (see workload)
  double expert_capacity_factor = 0;       ///< 0: dropless
  bool pad_to_capacity = false, token_drop = false;
  double attention_dropout = 0, hidden_dropout = 0;
  OptimizerSpec optimizer;
  EnumSet<ModelPart> frozen;
  std::optional<LoraSpec> lora;
  Packing packing = Packing::none;
  double packing_efficiency = 1;           ///< real tokens over row length
  std::optional<VisionWorkload> vision;
};

}  // namespace shardfit
