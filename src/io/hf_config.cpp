// SPDX-License-Identifier: Apache-2.0
#include "io/hf_config.hpp"

#include <algorithm>
#include <filesystem>

namespace shardfit::io {
namespace {

/// What the code of a family does and its configuration does not say.
struct HfFamily {
  const char* model_type;
  const char* experts = nullptr;       ///< key of their number; none: dense
  const char* expert_width = nullptr;  ///< key of an expert's width
  const char* qk_norm = "none";
  bool qkv_bias = false;
  bool mla = false;
};

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
    {.model_type = "deepseek_v3", .experts = "n_routed_experts", .expert_width = "moe_intermediate_size", .mla = true},
    {.model_type = "kimi_k2", .experts = "n_routed_experts", .expert_width = "moe_intermediate_size", .mla = true},
};

constexpr const char* kWriteOne = "write a model file: copy the nearest of models/; models/README.md names every key";

HfFamily family_of(Object& config) {
  const std::string type = config.at("model_type").as_text();
  std::string known;
  for (const HfFamily& family : kFamilies) {
    if (type == family.model_type) return family;
    known += (known.empty() ? "" : ", ") + std::string(family.model_type);
  }
  config.at("model_type").refuse("a Hugging Face configuration of " + known, kWriteOne);
}

Json mixer_of(Object& config, const HfFamily& family, int hidden) {
  const int heads = config.at("num_attention_heads").as_int(1);
  if (config.get("use_sliding_window", false)) config.at("use_sliding_window").refuse("false: which layers have a window is not told", kWriteOne);
  if (family.mla)
    return {{"kind", "mla"}, {"num_attention_heads", heads},
            {"q_lora_rank", config.find("q_lora_rank") ? Json(config.at("q_lora_rank").as_int(1)) : Json()},
            {"kv_lora_rank", config.at("kv_lora_rank").as_int(1)}, {"qk_nope_head_dim", config.at("qk_nope_head_dim").as_int(0)},
            {"qk_rope_head_dim", config.at("qk_rope_head_dim").as_int(0)}, {"v_head_dim", config.at("v_head_dim").as_int(1)}};
  const bool bias = config.get("attention_bias", false);
  // Qwen2's keeps the width of a window that it does not use.
  const auto window = std::string_view(family.model_type) == "mistral" || std::string_view(family.model_type) == "mixtral"
                          ? config.find("sliding_window") : std::nullopt;
  return {{"kind", "gqa"}, {"num_attention_heads", heads},
          {"num_key_value_heads", config.get("num_key_value_heads", heads, 1)}, {"head_dim", config.get("head_dim", hidden / heads, 1)},
          {"qkv_bias", family.qkv_bias || bias}, {"o_bias", bias}, {"qk_norm", family.qk_norm},
          {"sliding_window", window ? Json(window->as_int(1)) : Json()}};
}

Json dense_of(int width) {
  return {{"kind", "dense"}, {"intermediate_size", width}, {"gated", true}, {"activation", "silu"}, {"bias", false}};
}

Json moe_of(Object& config, const HfFamily& family) {
  const int width = config.at(family.expert_width).as_int(1);
  Json router = {{"score_function", config.get("scoring_func", "softmax")}};
  if (config.get("topk_method", "") != "greedy") {   // which looks at no groups
    router["n_group"] = config.get("n_group", 1, 1);
    router["topk_group"] = config.get("topk_group", 1, 1);
  }
  router["correction_bias"] = config.get("topk_method", "") == "noaux_tc";
  Json moe = {{"kind", "moe"}, {"num_experts", config.at(family.experts).as_int(1)},
              {"num_experts_per_tok", config.at("num_experts_per_tok").as_int(1)}, {"intermediate_size", width}, {"gated", true},
              {"activation", "silu"}, {"bias", false}, {"router", router}};
  if (const int shared = config.get("n_shared_experts", 0, 0); shared > 0)
    moe["shared_expert"] = {{"intermediate_size", shared * width}, {"gate", false}};
  if (const int shared = config.get("shared_expert_intermediate_size", 0, 0); shared > 0)
    moe["shared_expert"] = {{"intermediate_size", shared}, {"gate", true}};
  return moe;
}

/// Which layers have experts: from the first ones that are dense, every so many, and a list of dense ones.
std::vector<bool> layers_with_experts(Object& config, const HfFamily& family, int layers) {
  std::vector<bool> with(std::size_t(layers), family.experts != nullptr);
  if (!family.experts) return with;
  const int dense = config.get("first_k_dense_replace", 0, 0);
  const int every = std::max(config.get("decoder_sparse_step", 1, 1), config.get("moe_layer_freq", 1, 1));
  std::vector<int> listed;
  if (const auto v = config.find("mlp_only_layers")) listed = v->as_ints(0);
  if (dense > 0 && every > 1) config.at("moe_layer_freq").refuse("1 beside first_k_dense_replace", kWriteOne);
  for (int i = 0; i < layers; ++i)
    with[std::size_t(i)] = i >= dense && (i + 1) % every == 0 && std::find(listed.begin(), listed.end(), i) == listed.end();
  return with;
}

Json segments_of(const std::vector<bool>& with_experts) {
  Json segments = Json::array();
  for (std::size_t i = 0; i < with_experts.size();) {
    std::size_t end = i;
    while (end < with_experts.size() && with_experts[end] == with_experts[i]) ++end;
    segments.push_back({{"repeat", end - i}, {"blocks", {{{"mixer", "attention"}, {"mlp", with_experts[i] ? "moe" : "dense"}}}}});
    i = end;
  }
  return segments;
}

/// The name of the file, or of the folder of a config.json; of a configuration inline in a scenario `otherwise`.
std::string name_of_file(const Place& place, const std::string& otherwise) {
  if (!place.pointer.empty()) return otherwise;
  const std::filesystem::path path(place.file);
  const std::string stem = path.stem().string(), folder = path.parent_path().filename().string();
  if (stem != "config" && !stem.empty()) return stem;
  return folder.empty() || folder == "." ? otherwise : folder;
}

}  // namespace

bool is_hf_config(const Value& value) {
  if (!value.is_object() || value.json().contains("text")) return false;
  return value.json().contains("model_type") || value.json().contains("architectures");
}

Json model_of_hf(const Value& value) {
  Object config(value);
  const HfFamily family = family_of(config);
  if (const std::string act = config.get("hidden_act", "silu"); act != "silu") config.at("hidden_act").refuse("\"silu\"", kWriteOne);
  const int hidden = config.at("hidden_size").as_int(1), layers = config.at("num_hidden_layers").as_int(1);
  const std::vector<bool> with_experts = layers_with_experts(config, family, layers);
  Json text = {{"num_hidden_layers", layers}, {"hidden_size", hidden}, {"vocab_size", config.at("vocab_size").as_int(1)},
               {"tie_word_embeddings", config.get("tie_word_embeddings", false)},
               {"max_position_embeddings", config.at("max_position_embeddings").as_int(1)},
               {"position_embedding", {{"kind", "rope"}}}, {"norm", {{"kind", "rmsnorm"}, {"placement", "pre"}}},
               {"residual", {{"kind", "plain"}}}, {"mixers", {{"attention", mixer_of(config, family, hidden)}}},
               {"mlps", Json::object()}, {"layers", segments_of(with_experts)}};
  const auto has = [&](bool experts) { return std::find(with_experts.begin(), with_experts.end(), experts) != with_experts.end(); };
  if (has(false)) text["mlps"]["dense"] = dense_of(config.at("intermediate_size").as_int(1));
  if (has(true)) text["mlps"]["moe"] = moe_of(config, family);
  if (const int depths = config.get("num_nextn_predict_layers", 0, 0); depths > 0)
    text["mtp"] = {{"num_layers", depths}, {"blocks", text["layers"].back()["blocks"]}, {"input_projection", "concat"},
                   {"shares_embedding_and_head", true}, {"final_norm", true}};
  return {{"schema_version", 1}, {"name", name_of_file(value.place(), family.model_type)}, {"family", family.model_type},
          {"modality", "text"}, {"text", text}};
}

}  // namespace shardfit::io
