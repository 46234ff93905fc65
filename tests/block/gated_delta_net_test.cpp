// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "mixer_fixture.hpp"

using namespace shardfit;
using namespace shardfit::block;

namespace {

GatedDeltaNetSpec heads_16_48() {
  GatedDeltaNetSpec g;
  g.num_key_heads = 16;
  g.num_value_heads = 48;
  g.key_head_dim = g.value_head_dim = 128;
  g.conv_kernel = 4;
  return g;
}

constexpr std::int64_t kTokens = 4096, kHidden = 5120;
constexpr std::int64_t kKey = 16 * 128, kValue = 48 * 128;

std::int64_t stream_bytes() { return 4 * kTokens * kHidden + 4 * kTokens; }

}  // namespace

TEST_CASE("16 key and 48 value heads of 128 keep 133,408 B a token") {
  const OpList ops = mixer_block(heads_16_48(), shapes_of(kHidden, kTokens));
  CHECK(saved_bytes(ops) == stream_bytes() + kTokens * 133408);
  CHECK(dropped_bytes(ops, RecomputeModule::gdn_norm_out) == 4 * kTokens * kValue);
}

TEST_CASE("ranks split channels and heads") {
  const std::int64_t split = kHidden * (2 * kKey + 2 * kValue + 2 * 48) + 4 * (2 * kKey + kValue) + 2 * 48 + kValue * kHidden;
  for (int tp : {1, 2, 16}) {
    const OpList ops = mixer_block(heads_16_48(), shapes_of(kHidden, kTokens, tp));
    CHECK(elements(ops, Split::tensor) * tp == split);
    CHECK(elements(ops, ParamGroup::norms) == kHidden + 128);
    CHECK(saved_bytes(ops) * tp == stream_bytes() + kTokens * 133408);
  }
}

TEST_CASE("work of projections and scan") {
  const OpList ops = mixer_block(heads_16_48(), shapes_of(kHidden, kTokens));
  const double params = double(kHidden) * (2 * kKey + 2 * kValue + 2 * 48) + double(kValue) * kHidden;
  CHECK(gemm_flops(ops, Pass::forward) == 2.0 * kTokens * params);
  const double scan = double(kTokens) * 48 * (4 * 64 * 128 + 4 * 64 * 128 + 6 * 128 * 128 + 2 * 64 * 64);
  CHECK(kernel_flops(ops, KernelKind::scan, Pass::forward) == scan);
  CHECK(kernel_flops(ops, KernelKind::scan, Pass::dgrad) == 2.5 * scan);
}

TEST_CASE("memory-bound bytes: 4 and 14 a channel forward, 10 and 24 backward, beside norm and residual") {
  const OpList ops = mixer_block(heads_16_48(), shapes_of(kHidden, kTokens));
  const double conv = 2 * kKey + kValue, n = kTokens;
  CHECK(moved_bytes(ops, KernelKind::memory, false) == n * (conv * 4 + kValue * (8 + 14) + kHidden * 10.0));
  CHECK(moved_bytes(ops, KernelKind::memory, true) == n * (conv * 10 + kValue * (14 + 20) + kHidden * 16.0));
}

TEST_CASE("context parallelism exchanges the projection's output and the result") {
  const OpList ops = mixer_block(heads_16_48(), shapes_of(kHidden, kTokens, 1, 1, 2));
  const double width = 2 * kKey + 2 * kValue + 2 * 48 + kValue;
  CHECK(traffic_bytes(ops, Group::cp, CollectiveKind::all_to_all, false) == 2.0 * kTokens / 2 * width);
  CHECK(traffic_bytes(ops, Group::cp, CollectiveKind::all_to_all, true) == 2.0 * kTokens / 2 * width);
}

TEST_CASE("calls and launches of the module") {
  const OpList ops = mixer_block(heads_16_48(), shapes_of(kHidden, kTokens));
  CHECK(host_work(ops, false).calls == 5 + 11 + 2 + 1 + 1);
  CHECK(host_work(ops, false).kernels == 1 + 1 + 16 + 2 + 1 + 1);
  CHECK(host_work(ops, true).calls == 1 + 4 + 14 + 3 + 2 + 1);
  CHECK(host_work(ops, true).kernels == 3 + 2 + 30 + 4 + 2 + 1);
}
