// SPDX-License-Identifier: Apache-2.0
// The decoder of a model file: models/README.md, "text".
#include <map>

#include "io/read_blocks.hpp"
#include "io/read_model.hpp"

namespace shardfit::io {
namespace {

constexpr int kMaxLayers = 10000;  ///< far above any model; segments are written out, so a wild count would eat memory

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
    throw InputError(
        list.place().file, list.place().pointer,
        layers.size() > std::size_t(num_layers) ? "more blocks than layers" : std::to_string(layers.size()) + " blocks",
        "num_hidden_layers = " + std::to_string(num_layers) + " of them");
  return layers;
}

MtpSpec read_mtp(const Value& value, const Index& mixers, const Index& mlps) {
  Object o(value);
  MtpSpec s;
  s.num_layers = o.at("num_layers").as_int(1, kMaxLayers);
  s.blocks = read_blocks(o.at("blocks"), mixers, mlps);
  const std::string projection = o.get("input_projection", "concat");
  if (projection != "concat" && projection != "split") o.at("input_projection").refuse_word(projection, {"concat", "split"});
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
  for (const char* key : {"rope_theta", "rotary_dim", "scaling", "mrope_section", "mrope_interleaved", "num_positions",
                          "rope_local_base_freq", "compress_rope_theta"})
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
  if (placement != "pre" && placement != "pre_and_post") o.at("placement").refuse_word(placement, {"pre", "pre_and_post"});
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
  if (kind != "plain" && kind != "hyper_connections") o.at("kind").refuse_word(kind, {"plain", "hyper_connections"});
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
  s.final_logit_softcapping = o.get("final_logit_softcapping", 0.0, 0.0) > 0;
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
