// SPDX-License-Identifier: Apache-2.0
#include "io/hf_config.hpp"

#include <algorithm>
#include <filesystem>

#include "io/hf_families.hpp"

namespace shardfit::io {
namespace {

/// Width of a head: a share of the hidden size where the configuration does not say.
int head_dim_of(Object& config, int hidden, int heads) {
  if (!config.find("head_dim") && hidden % heads)
    config.at("num_attention_heads").refuse("a divisor of hidden_size = " + std::to_string(hidden) + ", or head_dim beside it");
  return config.get("head_dim", hidden / std::max(1, heads), 1);
}

/// Layers of other attention than the one kind that `mixer_of` makes of the rest.
void refuse_layer_types(Object& config) {
  const auto types = config.find("layer_types");
  if (!types) return;
  for (const Value& type : types->as_list())
    if (type.as_text() != "full_attention") type.refuse("\"full_attention\" in every layer", kWriteModelFile);
}

Json mixer_of(Object& config, const HfFamily& family, int hidden) {
  const int heads = config.at("num_attention_heads").as_int(1);
  refuse_layer_types(config);
  if (config.get("use_sliding_window", false))
    config.at("use_sliding_window").refuse("false: which layers have a window is not told", kWriteModelFile);
  if (family.mla) {
    if (config.get("attention_bias", false))
      config.at("attention_bias").refuse("false: biases of latent projections are not modelled");
    for (const char* key : {"num_key_value_heads", "head_dim", "qk_head_dim"}) config.ignore(key);  // follow from the others
    Json mla = {{"kind", "mla"},
                {"num_attention_heads", heads},
                {"q_lora_rank", config.find("q_lora_rank") ? Json(config.at("q_lora_rank").as_int(1)) : Json()},
                {"kv_lora_rank", config.at("kv_lora_rank").as_int(1)},
                {"qk_nope_head_dim", config.at("qk_nope_head_dim").as_int(0)},
                {"qk_rope_head_dim", config.at("qk_rope_head_dim").as_int(0)},
                {"v_head_dim", config.at("v_head_dim").as_int(1)}};
    if (family.indexer)
      mla["indexer"] = {{"num_heads", config.at("index_n_heads").as_int(1)},
                        {"head_dim", config.at("index_head_dim").as_int(1)},
                        {"topk", config.at("index_topk").as_int(1)}};
    return mla;
  }
  const bool bias = config.get("attention_bias", false);
  // Qwen's keeps the width of a window that it does not use.
  if (config.has("use_sliding_window")) config.ignore("sliding_window");
  const auto window = std::string_view(family.model_type) == "mistral" || std::string_view(family.model_type) == "mixtral"
                          ? config.find("sliding_window")
                          : std::nullopt;
  return {{"kind", "gqa"},
          {"num_attention_heads", heads},
          {"num_key_value_heads", config.get("num_key_value_heads", heads, 1)},
          {"head_dim", head_dim_of(config, hidden, heads)},
          {"qkv_bias", bias || (family.qkv_bias && config.get("qkv_bias", true))},
          {"o_bias", bias},
          {"qk_norm", family.qk_norm},
          {"sliding_window", window ? Json(window->as_int(1)) : Json()}};
}

Json dense_of(Object& config, const HfFamily& family) {
  const bool bias = std::string_view(family.model_type) == "llama" && config.get("mlp_bias", false);
  return {{"kind", "dense"},
          {"intermediate_size", config.at("intermediate_size").as_int(1)},
          {"gated", true},
          {"activation", "silu"},
          {"bias", bias}};
}

Json moe_of(Object& config, const HfFamily& family) {
  const int width = config.at(family.expert_width).as_int(1);
  const std::string topk = config.get("topk_method", family.topk_method);
  Json router = {{"score_function", config.get("scoring_func", family.score)}, {"correction_bias", topk == "noaux_tc"}};
  const int groups = config.get("n_group", 1, 1), chosen = config.get("topk_group", 1, 1);
  if (topk != "greedy") {  // which looks at no groups
    router["n_group"] = groups;
    router["topk_group"] = chosen;
  }
  Json moe = {{"kind", "moe"},
              {"num_experts", config.at(family.experts).as_int(1)},
              {"num_experts_per_tok", config.at("num_experts_per_tok").as_int(1)},
              {"intermediate_size", width},
              {"gated", true},
              {"activation", "silu"},
              {"bias", false},
              {"router", router}};
  if (const int shared = config.get("n_shared_experts", 0, 0); shared > 0)
    moe["shared_expert"] = {{"intermediate_size", shared * width}, {"gate", false}};
  if (const int shared = config.get("shared_expert_intermediate_size", 0, 0); shared > 0)
    moe["shared_expert"] = {{"intermediate_size", shared}, {"gate", true}};
  return moe;
}

/// Which layers have experts. DeepSeek's: after the first ones, where the index is a multiple; others': where the count is one,
/// and the layer is not in the list of dense ones.
std::vector<bool> layers_with_experts(Object& config, const HfFamily& family, int layers) {
  std::vector<bool> with(std::size_t(layers), family.experts != nullptr);
  if (!family.experts) return with;
  if (family.mla) {
    const int dense = config.get("first_k_dense_replace", 0, 0), every = config.get("moe_layer_freq", 1, 1);
    for (int i = 0; i < layers; ++i) with[std::size_t(i)] = i >= dense && i % every == 0;
    return with;
  }
  if (!config.find("decoder_sparse_step") && !config.find("mlp_only_layers")) return with;
  const int every = config.get("decoder_sparse_step", 1, 1);
  std::vector<int> listed;
  if (const auto v = config.find("mlp_only_layers")) listed = v->as_ints(0, layers - 1);
  for (int i = 0; i < layers; ++i)
    with[std::size_t(i)] = (i + 1) % every == 0 && std::find(listed.begin(), listed.end(), i) == listed.end();
  return with;
}

/// Layers that read an earlier layer's choice of keys. Told layer by layer (indexer_types), by letters
/// (index_topk_pattern: F, S), or by a stride that starts after an offset. Source: Megatron-LM dsa.py:is_dsa_skip_topk_layer.
std::vector<bool> layers_that_share(Object& config, const HfFamily& family, int layers) {
  std::vector<bool> shares(std::size_t(layers), false);
  if (!family.indexer) return shares;
  const int every = config.get("index_topk_freq", 1, 1), offset = std::max(1, config.get("index_skip_topk_offset", 0, 0));
  for (int i = 0; i < layers; ++i) shares[std::size_t(i)] = std::max(i + 1 - offset, 0) % every != 0;
  if (config.find("index_topk_pattern"))
    config.at("index_topk_pattern").refuse("null, with indexer_types or index_topk_freq", kWriteModelFile);
  if (const auto types = config.find("indexer_types")) {
    const std::vector<Value> list = types->as_list();
    if (int(list.size()) != layers) types->refuse("one entry a layer, " + std::to_string(layers));
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string type = list[i].as_text();
      if (type != "full" && type != "shared") list[i].refuse_word(type, {"full", "shared"});
      shares[i] = type == "shared";
    }
  }
  return shares;
}

Json segments_of(const std::vector<bool>& with_experts, const std::vector<bool>& shares) {
  Json segments = Json::array();
  for (std::size_t i = 0; i < with_experts.size();) {
    std::size_t end = i;
    while (end < with_experts.size() && with_experts[end] == with_experts[i] && shares[end] == shares[i]) ++end;
    segments.push_back(
        {{"repeat", end - i},
         {"blocks", {{{"mixer", shares[i] ? "attention_shared" : "attention"}, {"mlp", with_experts[i] ? "moe" : "dense"}}}}});
    i = end;
  }
  return segments;
}

/// Tells of keys that nothing above read; one that is null, false, 0 or empty says that something is not there.
void tell_of_unread(Object& config, const Value& value, std::vector<std::string>& notes) {
  std::string keys;
  for (const std::string& key : config.unasked()) {
    const Json& v = value.json()[key];
    const bool nothing = v.is_null() || v == Json(false) || v == Json(0) || (v.is_structured() && v.empty());
    if (!nothing && !says_no_shape(key)) keys += (keys.empty() ? "" : ", ") + key;
  }
  if (!keys.empty()) notes.push_back("keys of the Hugging Face configuration that are not read: " + keys + " (model)");
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

Json model_of_hf(const Value& value, std::vector<std::string>* notes) {
  Object config(value);
  const HfFamily family = hf_family_of(config);
  if (const std::string act = config.get("hidden_act", "silu"); act != "silu")
    config.at("hidden_act").refuse("\"silu\"", kWriteModelFile);
  const int hidden = config.at("hidden_size").as_int(1), layers = config.at("num_hidden_layers").as_int(1);
  const std::vector<bool> with_experts = layers_with_experts(config, family, layers),
                          shares = layers_that_share(config, family, layers);
  Json text = {{"num_hidden_layers", layers},
               {"hidden_size", hidden},
               {"vocab_size", config.at("vocab_size").as_int(1)},
               {"tie_word_embeddings", config.get("tie_word_embeddings", false)},
               {"max_position_embeddings", config.at("max_position_embeddings").as_int(1)},
               {"position_embedding", {{"kind", "rope"}}},
               {"norm", {{"kind", "rmsnorm"}, {"placement", "pre"}}},
               {"residual", {{"kind", "plain"}}},
               {"mixers", {{"attention", mixer_of(config, family, hidden)}}},
               {"mlps", Json::object()},
               {"layers", segments_of(with_experts, shares)}};
  if (std::find(shares.begin(), shares.end(), true) != shares.end()) {
    Json shared = text["mixers"]["attention"];
    shared["indexer"]["shared"] = true;
    text["mixers"]["attention_shared"] = shared;
  }
  const auto has = [&](bool experts) {
    return std::find(with_experts.begin(), with_experts.end(), experts) != with_experts.end();
  };
  if (has(false)) text["mlps"]["dense"] = dense_of(config, family);
  if (has(true)) text["mlps"]["moe"] = moe_of(config, family);
  if (const int depths = config.get("num_nextn_predict_layers", 0, 0); depths > 0) {
    // A layer of MTP chooses its keys itself (core/transformer/multi_token_prediction.py numbers them anew).
    Json mtp_blocks = text["layers"].back()["blocks"];
    mtp_blocks[0]["mixer"] = "attention";
    text["mtp"] = {{"num_layers", depths},
                   {"blocks", mtp_blocks},
                   {"input_projection", "concat"},
                   {"shares_embedding_and_head", true},
                   {"final_norm", true}};
  }
  if (family.indexer) config.ignore("mlp_layer_types");  // as first_k_dense_replace says
  config.ignore("intermediate_size");                    // kept in files of models whose layers all have experts
  if (notes) tell_of_unread(config, value, *notes);
  return {{"schema_version", 1},
          {"name", name_of_file(value.place(), family.model_type)},
          {"family", family.model_type},
          {"modality", "text"},
          {"text", text}};
}

}  // namespace shardfit::io
