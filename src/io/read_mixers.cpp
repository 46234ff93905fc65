// SPDX-License-Identifier: Apache-2.0
#include "io/read_blocks.hpp"

namespace shardfit::io {
namespace {

GqaSpec read_gqa(Object& o) {
  GqaSpec s;
  s.num_attention_heads = o.at("num_attention_heads").as_int(1);
  s.num_key_value_heads = o.at("num_key_value_heads").as_int(1);
  if (s.num_attention_heads % s.num_key_value_heads != 0)
    o.at("num_key_value_heads").refuse("a divisor of num_attention_heads = " + std::to_string(s.num_attention_heads));
  s.head_dim = o.at("head_dim").as_int(1);
  s.qkv_bias = o.get("qkv_bias", false);
  s.o_bias = o.get("o_bias", false);
  s.qk_norm = o.get("qk_norm", QkNorm::none);
  s.output_gate = o.get("output_gate", false);
  s.sliding_window = o.find_int("sliding_window", 1);
  s.attention_sinks = o.get("attention_sinks", false);
  s.value_norm = o.get("value_norm", false);
  return s;
}

std::optional<SparseIndexerSpec> read_indexer(Object& o) {
  const auto value = o.find("indexer");
  if (!value) return std::nullopt;
  Object indexer(*value);
  const SparseIndexerSpec spec{indexer.at("num_heads").as_int(1), indexer.at("head_dim").as_int(1),
                               indexer.at("topk").as_int(1), indexer.get("shared", false)};
  indexer.done();
  return spec;
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
  s.indexer = read_indexer(o);
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
  if (!o.get("shared_key_value", true)) o.at("shared_key_value").refuse("true (one tensor read as key and as value)");
  if (const auto v = o.find("indexer")) {
    Object indexer(*v);
    s.indexer = CompressedMqaSpec::Indexer{indexer.at("num_heads").as_int(1), indexer.at("head_dim").as_int(1),
                                           indexer.at("topk").as_int(1)};
    indexer.done();
  }
  return s;
}

}  // namespace

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

}  // namespace shardfit::io
