// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "mixer_fixture.hpp"

using namespace shardfit;
using namespace shardfit::block;

namespace {

/// A Llama-3-8B layer.
TextSpec llama() {
  TextSpec text;
  GqaSpec g;
  g.num_attention_heads = 32;
  g.num_key_value_heads = 8;
  g.head_dim = 128;
  text.mixers.push_back({"full", g});
  DenseMlpSpec f;
  f.intermediate_size = 14336;
  text.mlps.push_back({"dense", f});
  return text;
}

constexpr std::int64_t kTokens = 8192, kHidden = 4096, kFfn = 14336;

}  // namespace

TEST_CASE("a dense layer keeps 8 Ns h + N/tp (2(n + 2g)d + 2nd + 6f) and statistics") {
  for (int tp : {1, 2}) {
    const OpList ops = decoder_block(llama(), {0, 0}, shapes_of(kHidden, kTokens, tp));
    const std::int64_t split = kTokens * (2 * 48 * 128 + 2 * 32 * 128 + 6 * kFfn) + 4 * kTokens * 32;
    CHECK(saved_bytes(ops) * tp == 8 * kTokens * kHidden + split + 2 * 4 * kTokens);
  }
}

TEST_CASE("a layer's weights: 218,112,000 in Llama-3-8B, whatever tp") {
  for (int tp : {1, 2, 8})
    CHECK(whole_elements(decoder_block(llama(), {0, 0}, shapes_of(kHidden, kTokens, tp)), tp) == 218112000);
}

TEST_CASE("blocks of one sublayer are half a layer each") {
  const Shapes s = shapes_of(kHidden, kTokens);
  const OpList mixer = decoder_block(llama(), {0, -1}, s), mlp = decoder_block(llama(), {-1, 0}, s);
  const OpList both = decoder_block(llama(), {0, 0}, s);
  CHECK(mixer.size() + mlp.size() == both.size());
  CHECK(saved_bytes(mixer) + saved_bytes(mlp) == saved_bytes(both));
}

TEST_CASE("dropout keeps a byte mask a sublayer") {
  Shapes s = shapes_of(kHidden, kTokens, 2);
  const std::int64_t without = saved_bytes(decoder_block(llama(), {0, 0}, s));
  s.hidden_dropout = true;
  CHECK(saved_bytes(decoder_block(llama(), {0, 0}, s)) - without == 2 * kTokens * kHidden / 2);
}

TEST_CASE("second norms: a weight, kept input and statistics each, no kept output") {
  Shapes s = shapes_of(kHidden, kTokens);
  const OpList one = decoder_block(llama(), {0, 0}, s);
  s.norm_post = true;
  const OpList two = decoder_block(llama(), {0, 0}, s);
  CHECK(elements(two, ParamGroup::norms) == 2 * elements(one, ParamGroup::norms));
  CHECK(saved_bytes(two) - saved_bytes(one) == 2 * (2 * kTokens * kHidden + 4 * kTokens));
}

TEST_CASE("hyper-connections: (2 + n)n(nh + 1) + 3 weights a sublayer, n streams kept") {
  Shapes s = shapes_of(kHidden, kTokens);
  const OpList plain = decoder_block(llama(), {0, 0}, s);
  s.residual_streams = 4;
  const OpList ops = decoder_block(llama(), {0, 0}, s);
  CHECK(elements(ops, ParamGroup::hyper_connections) == 2 * (24 * (4 * kHidden + 1) + 3));
  CHECK(saved_bytes(ops) - saved_bytes(plain) == 2 * 4 * 2 * kTokens * kHidden);
}

TEST_CASE("norm recompute: nothing where norms are fused, the MLP's with mlp recompute, both without fused norms") {
  Shapes s = shapes_of(kHidden, kTokens);
  CHECK(dropped_bytes(decoder_block(llama(), {0, 0}, s), RecomputeModule::layernorm) == 0);
  CHECK(dropped_bytes(decoder_block(llama(), {0, 0}, s), RecomputeModule::mlp) == 2 * kTokens * kHidden + 6 * kTokens * kFfn);
  s.transformer_engine = false;
  CHECK(dropped_bytes(decoder_block(llama(), {0, 0}, s), RecomputeModule::layernorm) == 2 * 2 * kTokens * kHidden);
}

TEST_CASE("offload scopes move whole tensors, statistics stay") {
  Shapes s = shapes_of(kHidden, kTokens);
  std::int64_t qkv = 0;
  for (const Op& op : decoder_block(llama(), {0, -1}, s))
    for (const Saved& t : op.saved)
      if (t.offload == OffloadModule::qkv_linear) qkv += t.bytes.value;
  CHECK(qkv == 4 * kTokens * kHidden);  // the fused norm's input and output
}

TEST_CASE("norm and residual add move 10 and 16 B an element and sublayer") {
  const OpList ops = decoder_block(llama(), {0, -1}, shapes_of(kHidden, kTokens));
  const double rotation = 4.0 * kTokens * (32 + 8) * 128;
  // Queries and values are copied out of their groups; the gradients of all three are joined.
  const double split = 4.0 * kTokens * (32 + 8) * 128, joined = 4.0 * kTokens * (32 + 16) * 128;
  CHECK(moved_bytes(ops, KernelKind::memory, false) == kTokens * kHidden * 10.0 + rotation + split);
  CHECK(moved_bytes(ops, KernelKind::memory, true) == doctest::Approx(kTokens * kHidden * 16.0 + rotation + joined));
}

TEST_CASE("compiled recompute by operation drops the stream between attention and MLP, single operations keep it") {
  Shapes s = shapes_of(kHidden, kTokens);
  s.recompute_by_operation = true;
  s.transformer_engine = false;
  const std::int64_t compiled = dropped_bytes(decoder_block(llama(), {0, 0}, s), RecomputeModule::mlp);
  s.eager_loss = true;
  CHECK(compiled - dropped_bytes(decoder_block(llama(), {0, 0}, s), RecomputeModule::mlp) == 2 * kTokens * kHidden);
}
