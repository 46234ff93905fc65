// SPDX-License-Identifier: Apache-2.0
// Source: transformers models/{llama,mistral,qwen2,qwen2_moe,qwen3,qwen3_moe,mixtral,olmoe,deepseek_v2,deepseek_v3}.
#include "io/hf_families.hpp"

#include <algorithm>
#include <string>

namespace shardfit::io {
namespace {

/// DeepSeek-V3's latent attention and router, which others take over.
constexpr HfFamily like_deepseek_v3(const char* model_type, bool indexer = false) {
  return {.model_type = model_type,
          .experts = "n_routed_experts",
          .expert_width = "moe_intermediate_size",
          .mla = true,
          .indexer = indexer,
          .score = "sigmoid",
          .topk_method = "noaux_tc"};
}

constexpr HfFamily kFamilies[] = {
    {.model_type = "llama"},
    {.model_type = "mistral"},
    {.model_type = "qwen2", .qkv_bias = true},
    {.model_type = "qwen3", .qk_norm = "per_head"},
    {.model_type = "mixtral", .experts = "num_local_experts", .expert_width = "intermediate_size"},
    {.model_type = "olmoe", .experts = "num_experts", .expert_width = "intermediate_size", .qk_norm = "per_layer"},
    {.model_type = "qwen2_moe", .experts = "num_experts", .expert_width = "moe_intermediate_size", .qkv_bias = true},
    {.model_type = "qwen3_moe", .experts = "num_experts", .expert_width = "moe_intermediate_size", .qk_norm = "per_head"},
    {.model_type = "deepseek_v2", .experts = "n_routed_experts", .expert_width = "moe_intermediate_size", .mla = true},
    like_deepseek_v3("deepseek_v3"),
    like_deepseek_v3("deepseek_v32", true),
    like_deepseek_v3("glm_moe_dsa", true),
    like_deepseek_v3("kimi_k2"),
};

constexpr std::string_view kNoShape[] = {
    "_name_or_path",
    "architectures",
    "attention_dropout",
    "aux_loss_alpha",
    "auto_map",
    "bos_token_id",
    "dtype",
    "eos_token_id",
    "ep_size",
    "id2label",
    "index_share_for_mtp_iteration",
    "indexer_rope_interleave",
    "initializer_range",
    "label2id",
    "max_window_layers",
    "norm_topk_prob",
    "original_max_position_embeddings",
    "output_router_logits",
    "pad_token_id",
    "partial_rotary_factor",
    "pretraining_tp",
    "quantization_config",
    "rms_norm_eps",
    "rope_interleave",
    "rope_parameters",
    "rope_scaling",
    "rope_theta",
    "routed_scaling_factor",
    "router_aux_loss_coef",
    "router_jitter_noise",
    "seq_aux",
    "torch_dtype",
    "transformers_version",
    "unk_token_id",
    "use_cache",
};

}  // namespace

HfFamily hf_family_of(Object& config) {
  const std::string type = config.at("model_type").as_text();
  std::string known;
  for (const HfFamily& family : kFamilies) {
    if (type == family.model_type) return family;
    known += (known.empty() ? "" : ", ") + std::string(family.model_type);
  }
  config.at("model_type").refuse("a Hugging Face configuration of " + known, kWriteModelFile);
}

bool says_no_shape(std::string_view key) {
  return std::find(std::begin(kNoShape), std::end(kNoShape), key) != std::end(kNoShape);
}

}  // namespace shardfit::io
