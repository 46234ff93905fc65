// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "mixer_fixture.hpp"

using namespace shardfit;
using namespace shardfit::block;

namespace {

Mamba2Spec nemotron_h_8b() {
  Mamba2Spec m;
  m.num_heads = 128;
  m.head_dim = 64;
  m.state_size = 128;
  m.n_groups = 8;
  m.conv_kernel = 4;
  return m;
}

constexpr std::int64_t kTokens = 8192, kHidden = 4096, kInner = 8192, kGroups = 1024;

}  // namespace

TEST_CASE("kept: the projection's output and three tensors of the inner width") {
  const OpList ops = mixer_block(nemotron_h_8b(), shapes_of(kHidden, kTokens));
  const std::int64_t stream = 4 * kTokens * kHidden + 4 * kTokens;
  CHECK(saved_bytes(ops) == stream + 2 * kTokens * (2 * kInner + 2 * kGroups + 128) + 3 * 2 * kTokens * kInner);
}

TEST_CASE("ranks split heads and groups; decay and skip stay fp32") {
  const std::int64_t split = kHidden * (2 * kInner + 2 * kGroups + 128) + 5 * (kInner + 2 * kGroups) + 3 * 128 + kInner +
                             kInner * kHidden;
  for (int tp : {1, 2, 8}) {
    const OpList ops = mixer_block(nemotron_h_8b(), shapes_of(kHidden, kTokens, tp));
    CHECK(elements(ops, Split::tensor) * tp == split);
    std::int64_t fp32 = 0;
    for (const Op& op : ops)
      for (const Weight& w : op.weights)
        if (w.fp32) fp32 += w.elements();
    CHECK(fp32 == 2 * 128 / tp);
  }
}

TEST_CASE("work of projections and scan") {
  const OpList ops = mixer_block(nemotron_h_8b(), shapes_of(kHidden, kTokens));
  const double params = double(kHidden) * (2 * kInner + 2 * kGroups + 128) + double(kInner) * kHidden;
  CHECK(gemm_flops(ops, Pass::wgrad) == 2.0 * kTokens * params);
  CHECK(kernel_flops(ops, KernelKind::scan, Pass::forward) ==
        double(kTokens) * (2 * 128 * kGroups + 2 * 128 * kInner + 6 * kInner * 128));
  CHECK(host_work(ops, false).calls == 4 + 2 + 2 + 1);
  CHECK(host_work(ops, true).kernels == 3 + 2 + 13 + 4 + 1);
}

TEST_CASE("the mixer belongs to the mamba graph scope, norm included") {
  for (const Op& op : mixer_block(nemotron_h_8b(), shapes_of(kHidden, kTokens))) CHECK(op.scope == GraphScope::mamba);
}
