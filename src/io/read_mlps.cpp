// SPDX-License-Identifier: Apache-2.0
#include "io/read_blocks.hpp"

namespace shardfit::io {
namespace {

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
  s.separate_norms = o.get("separate_norms", false);
  if (const auto v = o.find("router")) s.router = read_router(*v);
  if (const auto v = o.find("shared_expert")) {
    Object shared(*v);
    s.shared_expert = SharedExpertSpec{shared.at("intermediate_size").as_int(1), shared.get("gate", false)};
    shared.done();
  }
  return s;
}

}  // namespace

MlpKind read_mlp(Object& o) {
  const Value kind = o.at("kind");
  const std::string name = kind.as_text();
  if (name == "dense") return read_dense(o);
  if (name == "moe") return read_moe(o);
  kind.refuse_word(name, {"dense", "moe"});
}

}  // namespace shardfit::io
