// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "mixer_fixture.hpp"

using namespace shardfit;
using namespace shardfit::block;

namespace {

GqaSpec llama_8b() {
  GqaSpec g;
  g.num_attention_heads = 32;
  g.num_key_value_heads = 8;
  g.head_dim = 128;
  return g;
}

constexpr std::int64_t kTokens = 8192, kHidden = 4096;

}  // namespace

TEST_CASE("Llama-3-8B attention on one rank keeps 289 MiB a layer") {
  const OpList ops = mixer_block(llama_8b(), shapes_of(kHidden, kTokens));
  CHECK(saved_bytes(ops, "norm_in") == 2 * kTokens * kHidden);
  CHECK(saved_bytes(ops, "norm_out") == 2 * kTokens * kHidden);
  CHECK(saved_bytes(ops, "norm_statistics") == 4 * kTokens);
  CHECK(saved_bytes(ops, "query_key_value") == 2 * kTokens * (32 + 16) * 128);
  CHECK(saved_bytes(ops, "context") == 2 * kTokens * 32 * 128);
  CHECK(saved_bytes(ops, "log_sum_exp") == 4 * kTokens * 32);
  CHECK(saved_bytes(ops) == 303071232);
}

TEST_CASE("sequence parallelism over two ranks halves every kept byte of dense attention") {
  const OpList one = mixer_block(llama_8b(), shapes_of(kHidden, kTokens));
  const OpList two = mixer_block(llama_8b(), shapes_of(kHidden, kTokens, 2));
  CHECK(saved_bytes(two) * 2 == saved_bytes(one));
  Shapes s = shapes_of(kHidden, kTokens, 2);
  s.sequence_parallel = false;
  s.stream_tokens = s.tokens;
  const std::int64_t stream = 4 * kTokens * kHidden + 4 * kTokens;
  CHECK(saved_bytes(mixer_block(llama_8b(), s)) == (saved_bytes(one) - stream) / 2 + stream);
}

TEST_CASE("weights of the ranks add up to the layer") {
  const std::int64_t whole = kHidden * (32 + 16) * 128 + 32 * 128 * kHidden + kHidden;
  for (int tp : {1, 2, 4, 8, 16}) CHECK(whole_elements(mixer_block(llama_8b(), shapes_of(kHidden, kTokens, tp)), tp) == whole);
}

TEST_CASE("fewer key-value heads than ranks: weights are sliced, activations hold a whole head") {
  const OpList ops = mixer_block(llama_8b(), shapes_of(kHidden, kTokens, 16));
  CHECK(elements(ops, ParamGroup::attention) == kHidden * (32 + 16) * 128 / 16 + 32 * 128 * kHidden / 16);
  CHECK(saved_bytes(ops, "query_key_value") == 2 * kTokens * (2 + 2) * 128);  // 2 query heads, 1 key, 1 value
  CHECK(traffic_bytes(ops, Group::tp, CollectiveKind::all_gather, false) ==
        2.0 * kTokens * kHidden + 2.0 * kTokens * (32 + 16) * 128);
  CHECK(traffic_bytes(mixer_block(llama_8b(), shapes_of(kHidden, kTokens, 8)), Group::tp, CollectiveKind::all_gather, false) ==
        2.0 * kTokens * kHidden);
}

TEST_CASE("kernels: 2 N params for the projections, causal half of 4 N s h for attention, backward 2.5 times") {
  const OpList ops = mixer_block(llama_8b(), shapes_of(kHidden, kTokens));
  const double params = double(kHidden) * (32 + 16) * 128 + double(kHidden) * kHidden;
  for (Pass pass : {Pass::forward, Pass::dgrad, Pass::wgrad}) CHECK(gemm_flops(ops, pass) == 2.0 * kTokens * params);
  const double forward = kernel_flops(ops, KernelKind::attention, Pass::forward);
  CHECK(forward == 4.0 * kTokens * kTokens * kHidden / 2);
  CHECK(kernel_flops(ops, KernelKind::attention, Pass::dgrad) == 2.5 * forward);
}

TEST_CASE("a window limits what is seen, never below the causal half") {
  GqaSpec g = llama_8b();
  g.sliding_window = 1024;
  const Shapes s = shapes_of(kHidden, kTokens);
  const double full = kernel_flops(mixer_block(llama_8b(), s), KernelKind::attention, Pass::forward);
  const double window = kernel_flops(mixer_block(g, s), KernelKind::attention, Pass::forward);
  CHECK(window / full == doctest::Approx((1024.0 + 96) / 4096));
  g.sliding_window = 8192;
  CHECK(kernel_flops(mixer_block(g, s), KernelKind::attention, Pass::forward) == full);
}

TEST_CASE("attention kernels differ in what they keep") {
  Shapes s = shapes_of(1024, 512, 1, 4);
  GqaSpec g;
  g.num_attention_heads = g.num_key_value_heads = 16;
  g.head_dim = 64;
  const std::int64_t context = 2 * 2048 * 1024, scores = 4LL * 16 * 512 * 512;
  const std::int64_t fused = saved_bytes(mixer_block(g, s));
  s.attention_kernel = AttentionKernel::flash;
  CHECK(saved_bytes(mixer_block(g, s)) == fused + context);
  s.attention_kernel = AttentionKernel::unfused;
  const std::int64_t statistics = 4 * 2048 * 16;
  CHECK(saved_bytes(mixer_block(g, s)) == fused - statistics + 2 * scores);
  s.attention_dropout = true;
  CHECK(saved_bytes(mixer_block(g, s)) == fused - statistics + 5 * scores);
  CHECK(dropped_bytes(mixer_block(g, s), RecomputeModule::core_attn) == 5 * scores);
}

TEST_CASE("recompute of core attention frees statistics only where the kernel is fused") {
  const OpList ops = mixer_block(llama_8b(), shapes_of(kHidden, kTokens));
  CHECK(dropped_bytes(ops, RecomputeModule::core_attn) == 4 * kTokens * 32);
  CHECK(dropped_bytes(ops, RecomputeModule::layernorm) == 0);  // the norm is fused into the projection
}

TEST_CASE("q/k norms keep their inputs, an output gate keeps gate and product") {
  GqaSpec g = llama_8b();
  const OpList plain = mixer_block(g, shapes_of(kHidden, kTokens));
  g.qk_norm = QkNorm::per_head;
  const OpList normed = mixer_block(g, shapes_of(kHidden, kTokens));
  CHECK(saved_bytes(normed) - saved_bytes(plain) == 2 * kTokens * (32 + 8) * 128 + 4 * kTokens * (32 + 8));
  CHECK(elements(normed, ParamGroup::norms) == kHidden + 2 * 128);
  g = llama_8b();
  g.output_gate = true;
  const OpList gated = mixer_block(g, shapes_of(kHidden, kTokens));
  CHECK(saved_bytes(gated) - saved_bytes(plain) == 4 * kTokens * 32 * 128);
  CHECK(elements(gated, ParamGroup::attention) - elements(plain, ParamGroup::attention) == kHidden * 32 * 128);
}

TEST_CASE("fp8 keeps one byte of the projection's input, and the context by reference") {
  Shapes s = shapes_of(kHidden, kTokens);
  const std::int64_t bf16 = saved_bytes(mixer_block(llama_8b(), s));
  s.precision = s.run_precision = Precision::fp8_tensorwise;
  CHECK(saved_bytes(mixer_block(llama_8b(), s)) == bf16 - kTokens * kHidden);
  s.precision = s.run_precision = Precision::fp8_delayed;
  CHECK(saved_bytes(mixer_block(llama_8b(), s)) == bf16);  // one byte of the context more
  s.precision = s.run_precision = Precision::mxfp8;
  s.fp8_attention = true;
  CHECK(saved_bytes(mixer_block(llama_8b(), s), "query_key_value") == kTokens * (32 + 16) * 128);
}

TEST_CASE("a ring adds up partial results and sees one rank's keys at a time") {
  const Shapes one = shapes_of(kHidden, kTokens), four = shapes_of(kHidden, kTokens, 1, 1, 4);
  const auto core = [](const Shapes& s) {
    for (const Op& op : mixer_block(llama_8b(), s))
      if (std::string_view(op.name) == "core_attention") return op;
    return Op{};
  };
  CHECK(moved_bytes({core(one)}, KernelKind::memory, false) == 0);
  CHECK(moved_bytes({core(four)}, KernelKind::memory, false) == 8.0 * kTokens * 32 * 128);
  CHECK(moved_bytes({core(four)}, KernelKind::memory, true) == 6.0 * kTokens * (32 + 16) * 128);
  CHECK(core(four).forward.kernels.front().effective_sequence == core(one).forward.kernels.front().effective_sequence / 4);
}

TEST_CASE("context parallelism: ring behind attention, exchanges and gathers exposed") {
  Shapes s = shapes_of(kHidden, kTokens, 1, 1, 4);
  const double kv = 2.0 * 2048 * 16 * 128, q = 2.0 * 2048 * 32 * 128;
  OpList ops = mixer_block(llama_8b(), s);
  CHECK(traffic_bytes(ops, Group::cp, CollectiveKind::send_recv, false) == 3 * kv);
  CHECK(traffic_bytes(ops, Group::cp, CollectiveKind::send_recv, true) == 6 * kv);
  const std::int64_t ring = saved_bytes(ops);
  s.cp_comm_type = CpCommType::a2a;
  ops = mixer_block(llama_8b(), s);
  CHECK(traffic_bytes(ops, Group::cp, CollectiveKind::all_to_all, false) == kv + 2 * q);
  CHECK(saved_bytes(ops) == ring + std::int64_t(q));  // the context before the exchange
  s.cp_comm_type = CpCommType::all_gather;
  ops = mixer_block(llama_8b(), s);
  CHECK(traffic_bytes(ops, Group::cp, CollectiveKind::all_gather, false) == 4 * kv);
  CHECK(traffic_bytes(ops, Group::cp, CollectiveKind::reduce_scatter, true) == 4 * kv);
}

TEST_CASE("frozen weights keep no linear inputs; nothing trained keeps nothing") {
  Shapes s = shapes_of(kHidden, kTokens);
  s.train_weights = false;
  OpList ops = mixer_block(llama_8b(), s);
  CHECK(saved_bytes(ops, "norm_out") == -1);
  CHECK(saved_bytes(ops, "context") == 2 * kTokens * 32 * 128);  // attention's own backward reads it
  CHECK(gemm_flops(ops, Pass::wgrad) == 0);
  s.needs_input_grad = false;
  ops = mixer_block(llama_8b(), s);
  CHECK(saved_bytes(ops) == 0);
  for (const Op& op : ops) CHECK(op.backward.kernels.empty());
}

TEST_CASE("LoRA on qkv alone keeps the gathered norm output, not the attention projection's adapter") {
  Shapes s = shapes_of(kHidden, kTokens, 2);
  s.train_weights = false;
  s.lora_rank = 16;
  s.lora_targets = {LinearModule::linear_qkv};
  const OpList ops = mixer_block(llama_8b(), s);
  CHECK(saved_bytes(ops, "lora_gathered_input") == 2 * kTokens * kHidden);
  CHECK(saved_bytes(ops, "norm_out") == 2 * kTokens * kHidden / 2);
  CHECK(elements(ops, ParamGroup::lora) * 2 == 16 * (kHidden + (32 + 16) * 128));
}

TEST_CASE("calls and launches of the attention module: projection, rotation, core, output, residual") {
  const OpList ops = mixer_block(llama_8b(), shapes_of(kHidden, kTokens));
  CHECK(host_work(ops, false).calls == 3 + 3 + 4 + 1 + 1);
  CHECK(host_work(ops, false).kernels == 1 + 1 + 3 + 2 + 1 + 1);
  CHECK(host_work(ops, true).calls == 1 + 2 + 3 + 1 + 2 + 1);
  CHECK(host_work(ops, true).kernels == 3 + 2 + 3 + 4 + 2 + 1);
}

TEST_CASE("heads wider than any fused kernel keep their scores") {
  GqaSpec wide = llama_8b();
  wide.num_attention_heads = 8;
  wide.num_key_value_heads = 2;
  wide.head_dim = 256;
  const Shapes s = shapes_of(kHidden, kTokens);
  constexpr std::int64_t kNone = -1;
  CHECK(saved_bytes(mixer_block(wide, s), "probabilities") == kNone);
  wide.head_dim = 257;
  CHECK(saved_bytes(mixer_block(wide, s), "probabilities") == 2 * 8 * kTokens * kTokens);
  Shapes torch = s;
  torch.transformer_engine = false;  // torch's memory-efficient kernel takes any width
  CHECK(saved_bytes(mixer_block(wide, torch), "probabilities") == kNone);
}
