// SPDX-License-Identifier: Apache-2.0
// Configurations as Hugging Face publishes them, against the same models' files: the same layers and the same memory and time.
#include "io/hf_config.hpp"

#include <doctest/doctest.h>

#include "files.hpp"
#include "io/load.hpp"
#include "shardfit/estimate/estimator.hpp"

using namespace shardfit;

namespace {

constexpr const char* kQwen3Moe = R"({"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_size": 2048,
  "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 151936,
  "intermediate_size": 6144, "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8, "decoder_sparse_step": 1,
  "mlp_only_layers": [], "tie_word_embeddings": false, "max_position_embeddings": 40960, "attention_bias": false, "hidden_act": "silu",
  "sliding_window": null, "use_sliding_window": false, "torch_dtype": "bfloat16", "rope_theta": 1000000.0, "norm_topk_prob": true})";
constexpr const char* kDeepSeek =
    R"({"architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "hidden_size": 7168,
  "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128, "q_lora_rank": 1536, "kv_lora_rank": 512,
  "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280, "intermediate_size": 18432,
  "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3,
  "moe_layer_freq": 1, "n_group": 8, "topk_group": 4, "topk_method": "noaux_tc", "scoring_func": "sigmoid",
  "num_nextn_predict_layers": 1, "tie_word_embeddings": false, "max_position_embeddings": 163840, "hidden_act": "silu"})";
constexpr const char* kMixtral = R"({"architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "hidden_size": 4096,
  "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000, "intermediate_size": 14336,
  "num_local_experts": 8, "num_experts_per_tok": 2, "tie_word_embeddings": false, "max_position_embeddings": 32768, "sliding_window": null,
  "hidden_act": "silu"})";
constexpr const char* kLlama =
    R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
  "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "intermediate_size": 14336, "tie_word_embeddings": false,
  "max_position_embeddings": 8192, "attention_bias": false, "hidden_act": "silu"})";

constexpr const char* kGlm = R"({"architectures": ["GlmMoeDsaForCausalLM"], "model_type": "glm_moe_dsa", "hidden_size": 6144,
  "num_hidden_layers": 78, "num_attention_heads": 64, "num_key_value_heads": 64, "head_dim": 192, "q_lora_rank": 2048, "kv_lora_rank": 512,
  "qk_head_dim": 256, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256, "vocab_size": 154880, "intermediate_size": 12288,
  "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3,
  "moe_layer_freq": 1, "n_group": 1, "topk_group": 1, "num_nextn_predict_layers": 1, "tie_word_embeddings": false,
  "index_head_dim": 128, "index_n_heads": 32, "index_topk": 2048, "index_topk_freq": 4, "index_skip_topk_offset": 3,
  "index_topk_pattern": null, "max_position_embeddings": 1048576, "hidden_act": "silu"})";

std::string scenario(const std::string& model, int ep) {
  return R"({"model": )" + model +
         R"(, "hardware": "gb200-nvl72", "gpus": 64, "training": {"sequence_length": 4096, "global_batch_size": 64},
    "layout": {"ep": )" +
         std::to_string(ep) + "}}";
}

Estimate estimate_of(const std::string& model, int ep) {
  const Scenario s = io::parse_scenario(scenario(model, ep), "s.json");
  return Estimator(s.job).evaluate(s.base);
}

std::string refusal(std::string config, const std::string& from, const std::string& to) {
  const auto at = config.find(from);
  REQUIRE(at != std::string::npos);
  config.replace(at, from.size(), to);
  return io_test::message_of([&] { io::parse_scenario(scenario(config, 1), "s.json"); });
}

}  // namespace

TEST_CASE("a configuration of Hugging Face is the model that ships") {
  const struct {
    const char *name, *config;
    int ep;
  } models[] = {{"\"Qwen3-30B-A3B\"", kQwen3Moe, 8},
                {"\"DeepSeek-V3\"", kDeepSeek, 64},
                {"\"Mixtral-8x7B\"", kMixtral, 8},
                {"\"Llama-3-8B\"", kLlama, 1},
                {"\"GLM-5.2\"", kGlm, 64}};
  for (const auto& m : models) {
    CAPTURE(m.name);
    const Estimate shipped = estimate_of(m.name, m.ep), read = estimate_of(m.config, m.ep);
    CHECK(read.verdict.need == shipped.verdict.need);
    CHECK(read.step_time_s == shipped.step_time_s);
    CHECK(read.model_tflops_per_gpu == shipped.model_tflops_per_gpu);
  }
}

TEST_CASE("layers without experts are those that the configuration names") {
  std::string config = kQwen3Moe;
  config.replace(config.find("\"mlp_only_layers\": []"), 21, "\"mlp_only_layers\": [0, 5]");
  config.replace(config.find("\"decoder_sparse_step\": 1"), 24, "\"decoder_sparse_step\": 2");
  const TextSpec text = io::parse_scenario(scenario(config, 1), "s.json").job.model.text;
  REQUIRE(text.layers.size() == 48);
  for (std::size_t i = 0; i < 48; ++i)
    CHECK(std::holds_alternative<MoeMlpSpec>(text.mlps[std::size_t(text.layers[i].mlp)].kind) == (i % 2 == 1 && i != 5));
}

TEST_CASE("what a configuration cannot tell is refused with its place") {
  CHECK(refusal(kLlama, "\"llama\"", "\"mamba2\"").find("/model/model_type: got \"mamba2\"") != std::string::npos);
  CHECK(refusal(kLlama, "\"llama\"", "\"mamba2\"").find("models/README.md") != std::string::npos);
  CHECK(refusal(kLlama, "\"silu\"", "\"gelu\"").find("/model/hidden_act") != std::string::npos);
  CHECK(refusal(kLlama, "\"hidden_size\": 4096", "\"hidden_size\": -1").find("/model/hidden_size") != std::string::npos);
  CHECK(refusal(kQwen3Moe, "\"use_sliding_window\": false", "\"use_sliding_window\": true").find("/model/use_sliding_window") !=
        std::string::npos);
  CHECK(refusal(kDeepSeek, "\"n_routed_experts\": 256, ", "").find("/model/n_routed_experts: got nothing") !=
        std::string::npos);
}

TEST_CASE("what a family's code does where its configuration is silent") {
  std::string native = kDeepSeek;
  for (const std::string key : {"\"topk_method\": \"noaux_tc\", ", "\"scoring_func\": \"sigmoid\","})
    native.erase(native.find(key), key.size());
  CHECK(estimate_of(native, 64).verdict.need == estimate_of("\"DeepSeek-V3\"", 64).verdict.need);

  // DeepSeek counts layers from 0, Qwen from 1.
  std::string alternating = kDeepSeek;
  alternating.replace(alternating.find("\"moe_layer_freq\": 1"), 19, "\"moe_layer_freq\": 2");
  const TextSpec text = io::parse_scenario(scenario(alternating, 1), "s.json").job.model.text;
  for (std::size_t i = 0; i < 61; ++i)
    CHECK(std::holds_alternative<MoeMlpSpec>(text.mlps[std::size_t(text.layers[i].mlp)].kind) == (i >= 3 && i % 2 == 0));

  std::string biased = kLlama;
  biased.replace(biased.find("\"attention_bias\": false"), 23, "\"mlp_bias\": true");
  CHECK(estimate_of(biased, 1).verdict.need > estimate_of(kLlama, 1).verdict.need);
}

TEST_CASE("keys that are not read are refused or told, never passed over") {
  CHECK(
      refusal(kDeepSeek, "\"moe_layer_freq\"", "\"attention_bias\": true, \"moe_layer_freq\"").find("/model/attention_bias") !=
      std::string::npos);
  CHECK(refusal(kLlama, "\"hidden_act\"", "\"layer_types\": [\"full_attention\", \"sliding_attention\"], \"hidden_act\"")
            .find("/model/layer_types/1: got \"sliding_attention\"") != std::string::npos);
  CHECK(refusal(kLlama, "\"num_attention_heads\": 32", "\"num_attention_heads\": 33").find("/model/num_attention_heads") !=
        std::string::npos);
  CHECK(refusal(kQwen3Moe, "\"mlp_only_layers\": []", "\"mlp_only_layers\": [48]").find("/model/mlp_only_layers") !=
        std::string::npos);

  std::string odd = kLlama;
  odd.replace(odd.find("\"hidden_act\""), 12, "\"num_experts\": 8, \"logit_scale\": 0, \"rope_theta\": 5e5, \"hidden_act\"");
  const auto notes = [](const std::string& config) {
    std::string all;
    for (const std::string& note : io::parse_scenario(scenario(config, 1), "s.json").assumptions) all += note + "\n";
    return all;
  };
  CHECK(notes(odd).find("not read: num_experts (model)") != std::string::npos);
  for (const char* config : {kLlama, kMixtral, kQwen3Moe, kDeepSeek, kGlm})
    CHECK(notes(config).find("not read") == std::string::npos);
}
