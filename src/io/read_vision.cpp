// SPDX-License-Identifier: Apache-2.0
// The tower of a model file: models/README.md, "vision".
#include "io/read_model.hpp"

namespace shardfit::io {
namespace {

MergerSpec read_merger(const Value& value) {
  Object o(value);
  MergerSpec s;
  const Value kind = o.at("kind");
  const std::string name = kind.as_text();
  if (name == "mlp")
    s.kind = MergerSpec::Kind::mlp;
  else if (name == "conv_gated_mlp")
    s.kind = MergerSpec::Kind::conv_gated_mlp;
  else if (name == "avg_pool_linear")
    s.kind = MergerSpec::Kind::avg_pool_linear;
  else
    kind.refuse_word(name, {"mlp", "conv_gated_mlp", "avg_pool_linear"});
  s.merge_size = o.get("merge_size", s.merge_size, 1);
  const auto norm = o.find("norm");
  s.has_norm = norm.has_value();
  s.layernorm = norm && norm->as_enum<NormKind>() == NormKind::layernorm;
  s.norm_after_merge = o.get("norm_after_merge", false);
  s.intermediate_size = o.get("intermediate_size", 0, 0);
  s.bias = o.get("bias", true);
  s.out_hidden_size = o.at("out_hidden_size").as_int(1);
  o.ignore("activation");
  o.done();
  return s;
}

DeepstackSpec read_deepstack(const Value& value) {
  Object o(value);
  DeepstackSpec s;
  s.vision_layer_indexes = o.at("vision_layer_indexes").as_ints(0);
  s.decoder_layer_indexes = o.at("decoder_layer_indexes").as_ints(0);
  s.merger = read_merger(o.at("merger"));
  if (s.vision_layer_indexes.size() != s.decoder_layer_indexes.size())
    o.at("decoder_layer_indexes").refuse("as many entries as vision_layer_indexes");
  o.done();
  return s;
}

void read_attention(const Value& value, VisionSpec& s) {
  Object o(value);
  s.attention_window = o.find_int("window_size", 1);
  if (const auto full = o.find("full_attention_layers"); full && full->is_list()) s.full_attention_layers = full->as_ints(0);
  o.ignore("full_attention_layers");
  o.ignore("scope");
  o.done();
}

VisionSpec::Resolution read_resolution(const Value& value) {
  Object o(value);
  VisionSpec::Resolution s;
  using Kind = VisionSpec::Resolution::Kind;
  const Value kind = o.at("kind");
  const std::string name = kind.as_text();
  if (name == "fixed")
    s.kind = Kind::fixed;
  else if (name == "native")
    s.kind = Kind::native;
  else if (name == "native_padded")
    s.kind = Kind::native_padded;
  else
    kind.refuse_word(name, {"fixed", "native", "native_padded"});
  s.image_size = s.kind == Kind::fixed ? o.at("image_size").as_int(1) : o.get("image_size", 0, 0);
  s.resize_multiple = o.get("resize_multiple", 0, 0);
  if (const auto v = o.find("min_pixels")) s.min_pixels = v->as_int64(1);
  if (const auto v = o.find("max_pixels")) s.max_pixels = v->as_int64(1);
  s.frames_counted = o.get("frames_counted", 1, 1);
  s.max_patches = o.get("max_patches", 0, 0);
  s.max_patches_per_side = o.get("max_patches_per_side", 0, 0);
  s.max_patches_per_frame = o.get("max_patches_per_frame", 0, 0);
  o.ignore("sample_fps");
  o.done();
  return s;
}

int read_position_table(Object& vision) {
  const auto v = vision.find("position_embedding");
  if (!v) return 0;
  Object o(*v);
  const int rows = o.get("table_size", 0, 0);
  o.ignore("kind");
  o.ignore("grid");
  o.done();
  return rows;
}

void read_tokens(const Value& value, VisionSpec& s) {
  Object o(value);
  s.temporal_merge = o.get("temporal_merge", 1, 1);
  s.text_tokens_per_image = o.get("text_tokens_per_image", 0, 0);
  for (const char* words : {"patches", "merged", "text_tokens_per_video_step"}) o.ignore(words);
  o.done();
}

}  // namespace

VisionSpec read_vision(const Value& value) {
  Object o(value);
  VisionSpec s;
  s.kind = o.get("kind", s.kind);
  s.depth = o.at("depth").as_int(1);
  s.hidden_size = o.at("hidden_size").as_int(1);
  s.num_heads = o.at("num_heads").as_int(1);
  s.head_dim = o.at("head_dim").as_int(1);
  s.intermediate_size = o.at("intermediate_size").as_int(1);
  s.mlp_gated = o.get("mlp_gated", false);
  s.mlp_bias = o.get("mlp_bias", true);
  s.qkv_bias = o.get("qkv_bias", true);
  s.proj_bias = o.get("proj_bias", true);
  s.norm = o.get("norm", NormKind::layernorm);
  if (const auto v = o.find("extra_norms")) s.extra_norms = int(v->as_list().size());
  s.in_channels = o.get("in_channels", s.in_channels, 1);
  s.patch_size = o.at("patch_size").as_int(1);
  s.temporal_patch_size = o.get("temporal_patch_size", 1, 1);
  s.patch_bias = o.get("patch_bias", true);
  s.position_table_size = read_position_table(o);
  if (const auto v = o.find("attention")) read_attention(*v, s);
  s.resolution = read_resolution(o.at("resolution"));
  s.merger = read_merger(o.at("merger"));
  if (const auto v = o.find("deepstack")) s.deepstack = read_deepstack(*v);
  if (const auto v = o.find("tokens")) read_tokens(*v, s);
  for (const char* key : {"activation", "decoder_mask"}) o.ignore(key);
  o.done();
  return s;
}

}  // namespace shardfit::io
