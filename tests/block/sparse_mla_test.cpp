// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "mixer_fixture.hpp"

using namespace shardfit;
using namespace shardfit::block;

namespace {

MlaSpec dense() {
  MlaSpec m;
  m.num_attention_heads = 64;
  m.q_lora_rank = 2048;
  m.kv_lora_rank = 512;
  m.qk_nope_head_dim = 192;
  m.qk_rope_head_dim = 64;
  m.v_head_dim = 256;
  return m;
}

MlaSpec sparse(int topk = 2048, bool shared = false) {
  MlaSpec m = dense();
  m.indexer = SparseIndexerSpec{32, 128, topk, shared};
  return m;
}

constexpr std::int64_t kTokens = 16384, kHidden = 6144;

double forward_flops(const OpList& ops) {
  return gemm_flops(ops, Pass::forward) + kernel_flops(ops, KernelKind::attention, Pass::forward);
}

}  // namespace

TEST_CASE("the indexer has a query of every head, one key, a weight a head and a LayerNorm; a layer that shares has none") {
  const OpList plain = mixer_block(dense(), shapes_of(kHidden, kTokens));
  const OpList full = mixer_block(sparse(), shapes_of(kHidden, kTokens));
  const OpList shared = mixer_block(sparse(2048, true), shapes_of(kHidden, kTokens));
  CHECK(whole_elements(full, 1) - whole_elements(plain, 1) == 2048 * 32 * 128 + kHidden * 128 + kHidden * 32 + 2 * 128);
  CHECK(whole_elements(shared, 1) == whole_elements(plain, 1));
  CHECK(saved_bytes(shared, "chosen_keys") == -1);
}

TEST_CASE("heads are split over tp, the indexer is whole on every rank") {
  const std::int64_t replicated = elements(mixer_block(sparse(), shapes_of(kHidden, kTokens)), Split::replicated);
  const std::int64_t split = elements(mixer_block(sparse(), shapes_of(kHidden, kTokens)), Split::tensor);
  for (int tp : {2, 8}) {
    const OpList ops = mixer_block(sparse(), shapes_of(kHidden, kTokens, tp));
    CHECK(elements(ops, Split::replicated) == replicated);
    CHECK(elements(ops, Split::tensor) * tp == split);
    CHECK(saved_bytes(ops, "index_query") == 2 * kTokens * 32 * 128);
  }
}

TEST_CASE("kept: absorbed queries of 576 a head, one latent key, results in the latent and in heads, 2048 chosen keys") {
  const OpList ops = mixer_block(sparse(), shapes_of(kHidden, kTokens));
  CHECK(saved_bytes(ops, "query_up") == 2 * kTokens * 64 * 256);
  CHECK(saved_bytes(ops, "absorbed_query") == 2 * kTokens * 64 * 576);
  CHECK(saved_bytes(ops, "latent_key") == 2 * kTokens * 576);
  CHECK(saved_bytes(ops, "latent_context") == 2 * kTokens * 64 * 512);
  CHECK(saved_bytes(ops, "context") == 2 * kTokens * 64 * 256);
  CHECK(saved_bytes(ops, "chosen_keys") == 4 * kTokens * 2048);
  CHECK(saved_bytes(ops, "probabilities") == -1);
}

TEST_CASE("where every key is chosen, sparse attention costs no less than dense") {
  const std::int64_t s = 2048;
  const OpList plain = mixer_block(dense(), shapes_of(kHidden, s)), chosen = mixer_block(sparse(int(s)), shapes_of(kHidden, s));
  CHECK(forward_flops(chosen) > forward_flops(plain));
  CHECK(saved_bytes(chosen) > saved_bytes(plain));
  // Beyond that, fewer keys cost less, and a longer sequence costs the indexer's pairs alone.
  const auto core = [](int topk, std::int64_t n) {
    double sum = 0;
    for (const Op& op : mixer_block(sparse(topk), shapes_of(kHidden, n)))
      if (std::string_view(op.name) == "core_attention") sum += op.forward.kernels.front().flops;
    return sum;
  };
  CHECK(core(4096, kTokens) > core(2048, kTokens));
  CHECK(core(int(kTokens), kTokens) == core(2 * int(kTokens), kTokens));
  CHECK(core(2048, 2 * kTokens) < 2.2 * core(2048, kTokens));
}

TEST_CASE("an indexer that no loss trains keeps nothing for its gradient and does no backward work") {
  Shapes s = shapes_of(kHidden, kTokens);
  s.dsa_indexer_loss = false;
  const OpList still = mixer_block(sparse(), s);
  CHECK(saved_bytes(still, "index_query") == -1);
  CHECK(whole_elements(still, 1) == whole_elements(mixer_block(sparse(), shapes_of(kHidden, kTokens)), 1));
  CHECK(gemm_flops(still, Pass::wgrad) < gemm_flops(mixer_block(sparse(), shapes_of(kHidden, kTokens)), Pass::wgrad));
}

TEST_CASE("without kernels every score is in memory") {
  Shapes s = shapes_of(kHidden, 4096);
  s.dsa_kernel_backend = DsaKernelBackend::none;
  const OpList ops = mixer_block(sparse(), s);
  CHECK(saved_bytes(ops, "probabilities") == std::int64_t(6) * 64 * 4096 * 4096);
  CHECK(saved_bytes(ops) > 2 * saved_bytes(mixer_block(sparse(), shapes_of(kHidden, 4096))));
}

TEST_CASE("context parallelism divides queries, not the keys that each rank gathers") {
  const OpList ops = mixer_block(sparse(), shapes_of(kHidden, kTokens, 1, 1, 8));
  CHECK(saved_bytes(ops, "absorbed_query") == 2 * kTokens / 8 * 64 * 576);
  CHECK(saved_bytes(ops, "latent_key") == 2 * kTokens * 576);
}
