// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "mixer_fixture.hpp"

using namespace shardfit;
using namespace shardfit::block;

namespace {

MlaSpec deepseek_v3() {
  MlaSpec m;
  m.num_attention_heads = 128;
  m.q_lora_rank = 1536;
  m.kv_lora_rank = 512;
  m.qk_nope_head_dim = 128;
  m.qk_rope_head_dim = 64;
  m.v_head_dim = 128;
  return m;
}

constexpr std::int64_t kTokens = 4096, kHidden = 7168;

}  // namespace

TEST_CASE("DeepSeek-V3 attention on one rank: q, k, v and result are 671 MB of what is kept") {
  const OpList ops = mixer_block(deepseek_v3(), shapes_of(kHidden, kTokens));
  CHECK(saved_bytes(ops, "compressed") == 2 * kTokens * (1536 + 512 + 64));
  CHECK(saved_bytes(ops, "q_normed") == 2 * kTokens * 1536);
  CHECK(saved_bytes(ops, "kv_normed") == 2 * kTokens * 512);
  CHECK(saved_bytes(ops, "query_key_value") == 2 * kTokens * 128 * (2 * 192 + 128));
  CHECK(saved_bytes(ops, "context") == 2 * kTokens * 128 * 128);
  CHECK(saved_bytes(ops, "query_key_value") + saved_bytes(ops, "context") == 671088640);
  const std::int64_t stream = 4 * kTokens * kHidden, rows = 3 * 4 * kTokens, lse = 4 * kTokens * 128;
  CHECK(saved_bytes(ops) == stream + 2 * kTokens * (2 * 1536 + 2 * 512 + 64) + 671088640 + rows + lse);
}

TEST_CASE("down-projections are whole on every rank, the rest adds up") {
  const std::int64_t replicated = kHidden * (1536 + 512 + 64) + 1536 + 512 + kHidden;
  const std::int64_t split = 128 * (192 * 1536 + 256 * 512 + 128 * kHidden);
  for (int tp : {1, 2, 8}) {
    const OpList ops = mixer_block(deepseek_v3(), shapes_of(kHidden, kTokens, tp));
    CHECK(elements(ops, Split::replicated) == replicated);
    CHECK(elements(ops, Split::tensor) * tp == split);
  }
}

TEST_CASE("recompute of the up-projections frees q, k, v and the normed latents; of norms the input norm's output") {
  const OpList ops = mixer_block(deepseek_v3(), shapes_of(kHidden, kTokens));
  const std::int64_t latents = 2 * kTokens * (1536 + 512) + 2 * 4 * kTokens;
  CHECK(dropped_bytes(ops, RecomputeModule::mla_up_proj) == 2 * kTokens * 128 * (2 * 192 + 128) + latents);
  CHECK(dropped_bytes(ops, RecomputeModule::layernorm) == 2 * kTokens * kHidden);
  int rerun = 0;
  for (const Op& op : ops) rerun += op.recomputed_by.contains(RecomputeModule::mla_up_proj);
  CHECK(rerun == 1);
}

TEST_CASE("fp8: each down-projection keeps a copy of its own") {
  Shapes s = shapes_of(kHidden, kTokens);
  s.precision = s.run_precision = Precision::fp8_tensorwise;
  const OpList ops = mixer_block(deepseek_v3(), s);
  CHECK(saved_bytes(ops, "norm_in") == 2 * kTokens * kHidden);
  CHECK(saved_bytes(ops, "norm_out") == kTokens * kHidden);
  CHECK(saved_bytes(ops, "norm_out_second") == kTokens * kHidden);
  CHECK(saved_bytes(ops, "q_normed") == kTokens * 1536);
}

TEST_CASE("kernels: 2 N params in the projections; attention by key and value widths") {
  const OpList ops = mixer_block(deepseek_v3(), shapes_of(kHidden, kTokens));
  const double params = kHidden * (1536.0 + 576) + 128 * (192.0 * 1536 + 256 * 512 + 128 * kHidden);
  for (Pass pass : {Pass::forward, Pass::dgrad, Pass::wgrad}) CHECK(gemm_flops(ops, pass) == 2.0 * kTokens * params);
  CHECK(kernel_flops(ops, KernelKind::attention, Pass::forward) == 2.0 * 128 * (192 + 128) * kTokens * kTokens / 2);
}

TEST_CASE("fused rotation turns queries in place and writes keys and values anew") {
  Op up;
  for (const Op& op : mixer_block(deepseek_v3(), shapes_of(kHidden, kTokens)))
    if (std::string_view(op.name) == "linear_up_proj") up = op;
  const double turned = 4.0 * 64, read = 2.0 * (128 + 128), written = 2.0 * (192 + 128);
  CHECK(moved_bytes({up}, KernelKind::memory, false) == 128.0 * kTokens * (turned + read + written));
  CHECK(moved_bytes({up}, KernelKind::memory, true) == moved_bytes({up}, KernelKind::memory, false));
}

TEST_CASE("tensor parallelism gathers latents, not the stream") {
  const OpList ops = mixer_block(deepseek_v3(), shapes_of(kHidden, kTokens, 4));
  CHECK(traffic_bytes(ops, Group::tp, CollectiveKind::all_gather, false) == 2.0 * kTokens * (1536 + 512 + 64));
  CHECK(traffic_bytes(ops, Group::tp, CollectiveKind::reduce_scatter, false) == 2.0 * kTokens * kHidden);
}

TEST_CASE("calls and launches of the latent attention module") {
  const OpList ops = mixer_block(deepseek_v3(), shapes_of(kHidden, kTokens));
  CHECK(host_work(ops, false).calls == 1 + 5 + 4 + 4 + 1 + 1);
  CHECK(host_work(ops, false).kernels == 1 + 4 + 6 + 2 + 1 + 1);
  CHECK(host_work(ops, true).calls == 2 + 5 + 8 + 1 + 2 + 1);
  CHECK(host_work(ops, true).kernels == 3 + 6 + 10 + 4 + 2 + 1);
}
