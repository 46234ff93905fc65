// SPDX-License-Identifier: Apache-2.0
// The decoder of a model file: models/README.md, "text".
#include <map>

#include "io/read_model.hpp"

namespace shardfit::io {
namespace {

constexpr int kMaxLayers =
    10000;  ///< far above any model; segments are written out, so a wild count would eat memory

GqaSpec read_gqa(Object& o) {
  GqaSpec s;
  s.num_attention_heads = o.at("num_attention_heads").as_int(1);
  s.num_key_value_heads = o.at("num_key_value_heads").as_int(1);
  if (s.num_attention_heads % s.num_key_value_heads != 0)
    o.at("num_key_value_heads")
        .refuse("a divisor of num_attention_heads = " + std::to_string(s.num_attention_heads));
  s.head_dim = o.at("head_dim").as_int(1);
  s.qkv_bias = o.get("qkv_bias", false);
  s.o_bias = o.get("o_bias", false);
  s.qk_norm = o.get("qk_norm", QkNorm::none);
  s.output_gate = o.get("output_gate", false);
  s.sliding_window = o.find_int("sliding_window", 1);
  s.attention_sinks = o.get("attention_sinks", false);
  return s;
}

MlaSpec read_mla(Object& o) {
  MlaSpec s;
  s.num_attention_heads = o.at("num_attention_heads").as_int(1);
  s.q_lora_rank = o.find_int("q_lora_rank", 1);
  s.kv_lora_rank = o.at("kv_lora_rank").as_int(1);
  s.qk_nope_head_dim = o.at("qk_nope_head_dim").as_int(1);
  s.qk_rope_head_dim = o.at("qk_rope_head_dim").as_int(0);
  s.v_head_dim = o.at("v_head_dim").as_int(1);
  s.latent_norms = o.get("latent_norms", true);
  s.o_bias = o.get("o_bias", false);
  return s;
}

GatedDeltaNetSpec read_gated_delta_net(Object& o) {
  GatedDeltaNetSpec s;
  s.num_key_heads = o.at("num_key_heads").as_int(1);
  s.num_value_heads = o.at("num_value_heads").as_int(1);
  s.key_head_dim = o.at("key_head_dim").as_int(1);
  s.value_head_dim = o.at("value_head_dim").as_int(1);
  s.conv_kernel = o.at("conv_kernel").as_int(1);
  s.conv_bias = o.get("conv_bias", false);
  o.ignore("qk_l2norm");  // no weights; its pass is part of the scan kernel
  return s;
}

Mamba2Spec read_mamba2(Object& o) {
  Mamba2Spec s;
  s.num_heads = o.at("num_heads").as_int(1);
  s.head_dim = o.at("head_dim").as_int(1);
  s.state_size = o.at("state_size").as_int(1);
  s.n_groups = o.at("n_groups").as_int(1);
  s.conv_kernel = o.at("conv_kernel").as_int(1);
  s.conv_bias = o.get("conv_bias", true);
  s.proj_bias = o.get("proj_bias", false);
  s.chunk_size = o.get("chunk_size", s.chunk_size, 1);
  return s;
}

CompressedMqaSpec read_compressed_mqa(Object& o) {
  CompressedMqaSpec s;
  s.num_attention_heads = o.at("num_attention_heads").as_int(1);
  s.head_dim = o.at("head_dim").as_int(1);
  s.qk_rope_head_dim = o.at("qk_rope_head_dim").as_int(0);
  s.q_lora_rank = o.at("q_lora_rank").as_int(1);
  s.o_groups = o.at("o_groups").as_int(1);
  s.o_lora_rank = o.at("o_lora_rank").as_int(1);
  s.sliding_window = o.find_int("sliding_window", 1);
  s.attention_sinks = o.get("attention_sinks", false);
  s.compress_ratio = o.get("compress_ratio", 0, 0);
  s.compress_overlap = o.get("compress_overlap", false);
  o.get("num_key_value_heads", 1, 1, 1);  // one shared key-value head is what this kind is
  if (!o.get("shared_key_value", true))
    o.at("shared_key_value").refuse("true (one tensor read as key and as value)");
  if (const auto v = o.find("indexer")) {
    Object indexer(*v);
    s.indexer = CompressedMqaSpec::Indexer{indexer.at("num_heads").as_int(1),
                                           indexer.at("head_dim").as_int(1), indexer.at("topk").as_int(1)};
    indexer.done();
  }
  return s;
}

MixerKind read_mixer(Object& o) {
  const Value kind = o.at("kind");
  const std::string name = kind.as_text();
  if (name == "gqa") return read_gqa(o);
  if (name == "mla") return read_mla(o);
  if (name == "gated_delta_net") return read_gated_delta_net(o);
  if (name == "mamba2") return read_mamba2(o);
  if (name == "compressed_mqa") return read_compressed_mqa(o);
  kind.refuse_word(name, {"gqa", "mla", "gated_delta_net", "mamba2", "compressed_mqa"});
}

DenseMlpSpec read_dense(Object& o) {
  DenseMlpSpec s;
  s.intermediate_size = o.at("intermediate_size").as_int(1);
  s.gated = o.get("gated", true);
  s.bias = o.get("bias", false);
  s.activation = o.get("activation", s.activation);
  return s;
}

RouterSpec read_router(const Value& value) {
  Object o(value);
  RouterSpec s;
  s.score_function = o.get("score_function", s.score_function);
  s.bias = o.get("bias", false);
  s.correction_bias = o.get("correction_bias", false);
  s.n_group = o.get("n_group", 1, 1);
  s.topk_group = o.get("topk_group", 1, 1);
  s.hash_routed = o.get("hash_routed", false);
  o.ignore("norm_topk_prob");
  o.ignore("routed_scaling_factor");
  o.done();
  return s;
}

MoeMlpSpec read_moe(Object& o) {
  MoeMlpSpec s;
  s.num_experts = o.at("num_experts").as_int(1);
  s.num_experts_per_tok = o.at("num_experts_per_tok").as_int(1, s.num_experts);
  s.intermediate_size = o.at("intermediate_size").as_int(1);
  s.gated = o.get("gated", true);
  s.bias = o.get("bias", false);
  s.activation = o.get("activation", s.activation);
  s.latent_size = o.find_int("latent_size", 1);
  if (const auto v = o.find("router")) s.router = read_router(*v);
  if (const auto v = o.find("shared_expert")) {
    Object shared(*v);
    s.shared_expert = SharedExpertSpec{shared.at("intermediate_size").as_int(1), shared.get("gate", false)};
    shared.done();
  }
  return s;
}

MlpKind read_mlp(Object& o) {
  const Value kind = o.at("kind");
  const std::string name = kind.as_text();
  if (name == "dense") return read_dense(o);
  if (name == "moe") return read_moe(o);
  kind.refuse_word(name, {"dense", "moe"});
}

using Index = std::map<std::string, int>;

int index_of(Object& block, const char* key, const Index& names) {
  const auto v = block.find(key);
  if (!v) return -1;
  const std::string name = v->as_text();
  if (const auto it = names.find(name); it != names.end()) return it->second;
  std::vector<std::string_view> words;
  for (const auto& [known, index] : names) words.push_back(known);
  v->refuse_word(name, words);
}

std::vector<BlockRef> read_blocks(const Value& list, const Index& mixers, const Index& mlps) {
  std::vector<BlockRef> blocks;
  for (const Value& v : list.as_list()) {
    Object block(v);
    const BlockRef ref{index_of(block, "mixer", mixers), index_of(block, "mlp", mlps)};
    if (ref.mixer < 0 && ref.mlp < 0) v.refuse("a block with a mixer, an mlp, or both");
    block.done();
    blocks.push_back(ref);
  }
  if (blocks.empty()) list.refuse("a list of at least one block");
  return blocks;
}

std::vector<BlockRef> read_layers(const Value& list, int num_layers, const Index& mixers, const Index& mlps) {
  std::vector<BlockRef> layers;
  for (const Value& v : list.as_list()) {
    Object segment(v);
    const int repeat = segment.get("repeat", 1, 1, kMaxLayers);
    const std::vector<BlockRef> blocks = read_blocks(segment.at("blocks"), mixers, mlps);
    segment.done();
    for (int i = 0; i < repeat && layers.size() <= std::size_t(num_layers); ++i)
      layers.insert(layers.end(), blocks.begin(), blocks.end());
  }
  if (layers.size() != std::size_t(num_layers))
    throw InputError(list.place().file, list.place().pointer,
                     layers.size() > std::size_t(num_layers) ? "more blocks than layers"
                                                             : std::to_string(layers.size()) + " blocks",
                     "num_hidden_layers = " + std::to_string(num_layers) + " of them");
  return layers;
}

MtpSpec read_mtp(const Value& value, const Index& mixers, const Index& mlps) {
  Object o(value);
  MtpSpec s;
  s.num_layers = o.at("num_layers").as_int(1, kMaxLayers);
  s.blocks = read_blocks(o.at("blocks"), mixers, mlps);
  const std::string projection = o.get("input_projection", "concat");
  if (projection != "concat" && projection != "split")
    o.at("input_projection").refuse_word(projection, {"concat", "split"});
  s.input_projection_split = projection == "split";
  s.shares_embedding_and_head = o.get("shares_embedding_and_head", true);
  s.final_norm = o.get("final_norm", true);
  s.repeated_layer = o.get("repeated_layer", false);
  o.ignore("assumed_structure");
  o.done();
  return s;
}

int read_learned_positions(Object& text) {
  const auto v = text.find("position_embedding");
  if (!v) return 0;
  Object o(*v);
  const Value kind = o.at("kind");
  const std::string name = kind.as_text();
  if (name != "rope" && name != "mrope" && name != "learned_absolute" && name != "none")
    kind.refuse_word(name, {"rope", "mrope", "learned_absolute", "none"});
  const int rows = name == "learned_absolute" ? o.at("num_positions").as_int(1) : 0;
  for (const char* key : {"rope_theta", "rotary_dim", "scaling", "mrope_section", "mrope_interleaved",
                          "num_positions", "rope_local_base_freq", "compress_rope_theta"})
    o.ignore(key);
  o.done();
  return rows;
}

void read_norm(Object& text, TextSpec& s) {
  const auto v = text.find("norm");
  if (!v) return;
  Object o(*v);
  s.norm = o.get("kind", NormKind::rmsnorm);
  const std::string placement = o.get("placement", "pre");
  if (placement != "pre" && placement != "pre_and_post")
    o.at("placement").refuse_word(placement, {"pre", "pre_and_post"});
  s.norm_post = placement == "pre_and_post";
  o.ignore("eps");
  o.ignore("zero_centered");
  o.done();
}

int read_residual_streams(Object& text) {
  const auto v = text.find("residual");
  if (!v) return 1;
  Object o(*v);
  const std::string kind = o.at("kind").as_text();
  if (kind != "plain" && kind != "hyper_connections")
    o.at("kind").refuse_word(kind, {"plain", "hyper_connections"});
  const int streams = kind == "plain" ? 1 : o.at("num_streams").as_int(2);
  o.ignore("num_streams");
  o.ignore("sinkhorn_iterations");
  o.done();
  return streams;
}

}  // namespace

TextSpec read_text(const Value& value) {
  Object o(value);
  TextSpec s;
  s.num_hidden_layers = o.at("num_hidden_layers").as_int(1, kMaxLayers);
  s.hidden_size = o.at("hidden_size").as_int(1);
  s.vocab_size = o.at("vocab_size").as_int(1);
  s.tie_word_embeddings = o.get("tie_word_embeddings", false);
  s.max_position_embeddings = o.get("max_position_embeddings", 0, 0);
  s.hybrid_override_pattern = o.get("hybrid_override_pattern", "");
  s.learned_positions = read_learned_positions(o);
  read_norm(o, s);
  s.residual_streams = read_residual_streams(o);

  Index mixers, mlps;
  Object mixer_map(o.at("mixers"));
  for (const std::string& name : mixer_map.keys()) {
    Object mixer(mixer_map.at(name));
    mixers[name] = int(s.mixers.size());
    s.mixers.push_back({name, read_mixer(mixer)});
    mixer.done();
  }
  Object mlp_map(o.at("mlps"));
  for (const std::string& name : mlp_map.keys()) {
    Object mlp(mlp_map.at(name));
    mlps[name] = int(s.mlps.size());
    s.mlps.push_back({name, read_mlp(mlp)});
    mlp.done();
  }
  s.layers = read_layers(o.at("layers"), s.num_hidden_layers, mixers, mlps);
  if (const auto v = o.find("mtp")) s.mtp = read_mtp(*v, mixers, mlps);
  o.done();
  return s;
}

}  // namespace shardfit::io
