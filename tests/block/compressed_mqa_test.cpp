// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "mixer_fixture.hpp"

using namespace shardfit;
using namespace shardfit::block;

namespace {

CompressedMqaSpec small() {
  CompressedMqaSpec m;
  m.num_attention_heads = 64;
  m.head_dim = 512;
  m.qk_rope_head_dim = 64;
  m.q_lora_rank = 1024;
  m.o_groups = 8;
  m.o_lora_rank = 1024;
  m.sliding_window = 128;
  m.attention_sinks = true;
  return m;
}

constexpr std::int64_t kTokens = 4096, kHidden = 4096;

double flops(const CompressedMqaSpec& m) {
  return kernel_flops(mixer_block(m, shapes_of(kHidden, kTokens)), KernelKind::attention, Pass::forward);
}

}  // namespace

TEST_CASE("window layers: low-rank query, one key-value head, grouped output") {
  const OpList ops = mixer_block(small(), shapes_of(kHidden, kTokens));
  CHECK(elements(ops, ParamGroup::attention) ==
        kHidden * 1024 + 1024 * 64 * 512 + kHidden * 512 + 1024 * 64 * 512 + 8 * 1024 * kHidden + 64);
  CHECK(saved_bytes(ops, "query_key_value") == 2 * kTokens * (64 + 1) * 512);
  CHECK(saved_bytes(ops, "o_compressed") == 2 * kTokens * 8 * 1024);
}

TEST_CASE("query and output are split, keys are not") {
  for (int tp : {1, 2, 8}) {
    const OpList ops = mixer_block(small(), shapes_of(kHidden, kTokens, tp));
    CHECK(elements(ops, Split::tensor) * tp == 2 * 1024 * 64 * 512 + 8 * 1024 * kHidden + 64);
    CHECK(saved_bytes(ops, "query_key_value") == 2 * kTokens * (64 / tp + 1) * 512);
  }
}

TEST_CASE("pooled keys add to what a query sees, at most as many as the indexer picks") {
  CompressedMqaSpec m = small();
  const double each = 4.0 * 64 * 512 * kTokens;
  CHECK(flops(m) == each * (128 + 96));
  m.compress_ratio = 4;
  CHECK(flops(m) == each * (128 + 96 + 512));
  m.indexer = CompressedMqaSpec::Indexer{64, 128, 256};
  CHECK(flops(m) == each * (128 + 96 + 256));
  m.compress_ratio = 128;
  CHECK(flops(m) == each * (128 + 96 + 16));
}

TEST_CASE("kernels that a model brings take its heads, however wide") {
  CompressedMqaSpec wide = small();
  wide.head_dim = 512;
  CHECK(saved_bytes(mixer_block(wide, shapes_of(4096, 4096)), "probabilities") == -1);  // none of that name
}
