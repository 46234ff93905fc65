// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "mixer_fixture.hpp"

using namespace shardfit;
using namespace shardfit::block;

namespace {

/// Gemma-4-26B's layer without its mixer.
TextSpec gemma(bool separate) {
  MoeMlpSpec moe;
  moe.num_experts = 128;
  moe.num_experts_per_tok = 8;
  moe.intermediate_size = 704;
  moe.activation = separate ? "gelu_pytorch_tanh" : "silu";
  moe.shared_expert = SharedExpertSpec{2112, false};
  moe.separate_norms = separate;
  TextSpec text;
  text.norm_post = true;
  text.mlps.push_back({"moe", moe});
  return text;
}

OpList layer(bool separate, Shapes s) {
  s.norm_post = true;
  return decoder_block(gemma(separate), {-1, 0}, s);
}

constexpr std::int64_t kTokens = 4096, kHidden = 2816, kStream = kTokens * kHidden;

}  // namespace

TEST_CASE("three more norms, and a scale of the router's input and of its weights") {
  const Shapes s = shapes_of(kHidden, kTokens);
  CHECK(whole_elements(layer(true, s), 1) - whole_elements(layer(false, s), 1) == 3 * kHidden + kHidden + 128);
}

TEST_CASE("six norms keep 8 B an element in single operations, 4 more where their weights train") {
  Shapes s = shapes_of(kHidden, kTokens);
  CHECK(saved_bytes(layer(true, s), "norm_in_fp32") == 6 * 8 * kStream);
  CHECK(saved_bytes(layer(true, s), "norm_scaled") == 5 * 4 * kStream);  // the router's has no weight
  s.lora_rank = 16;
  CHECK(saved_bytes(layer(true, s), "norm_scaled") == -1);
}

TEST_CASE("recompute of the layer frees its inner norms, not those around it") {
  const OpList ops = layer(true, shapes_of(kHidden, kTokens));
  std::int64_t kept = 0;
  for (const Op& op : ops)
    for (const Saved& t : op.saved)
      if (std::string_view(t.name) == "norm_in_fp32" && !t.dropped_by.contains(RecomputeModule::moe)) kept += t.bytes.value;
  CHECK(kept == 3 * 8 * kStream);  // before the routed and the shared experts, after both
}

TEST_CASE("an unfused gate keeps its factors; experts the product too, until the routing weight") {
  const OpList ops = layer(true, shapes_of(kHidden, kTokens));
  CHECK(saved_bytes(ops, "gate_factors") == 2 * kTokens * 2 * 2112);
  CHECK(saved_bytes(ops, "expert_gate_factors") == 2 * 8 * kTokens * 3 * 704);
  CHECK(saved_bytes(layer(false, shapes_of(kHidden, kTokens)), "gate_factors") == -1);
}

TEST_CASE("a soft cap of the logits keeps one more tensor of them") {
  TextSpec text;
  Shapes s = shapes_of(kHidden, kTokens, 4);
  s.vocab = 262144;
  const std::int64_t plain = saved_bytes(head(text, s, true));
  s.final_logit_softcapping = true;
  CHECK(saved_bytes(head(text, s, true)) - plain == 2 * kTokens * 262144 / 4);
}

TEST_CASE("normed values keep an fp32 copy") {
  GqaSpec g;
  g.num_attention_heads = 16;
  g.num_key_value_heads = 8;
  g.head_dim = 256;
  const std::int64_t plain = saved_bytes(mixer_block(g, shapes_of(kHidden, kTokens, 2)));
  g.value_norm = true;
  CHECK(saved_bytes(mixer_block(g, shapes_of(kHidden, kTokens, 2))) - plain == 4 * kTokens * 8 * 256 / 2);
}

TEST_CASE("recompute by operation makes experts' products again, and keeps what an all-to-all brought") {
  Shapes s = shapes_of(kHidden, kTokens);
  s.recompute_by_operation = true;
  const OpList alone = layer(false, s);
  CHECK(dropped_bytes(alone, RecomputeModule::mlp) >=
        dropped_bytes(layer(false, shapes_of(kHidden, kTokens)), RecomputeModule::moe));
  s.ep = 8;
  const OpList spread = layer(false, s);
  CHECK(dropped_bytes(alone, RecomputeModule::mlp) - dropped_bytes(spread, RecomputeModule::mlp) >= 2 * 8 * kTokens * kHidden);
}
