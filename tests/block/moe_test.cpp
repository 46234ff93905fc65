// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string_view>

#include "block/blocks.hpp"
#include "block/linear.hpp"
#include "block/moe_parts.hpp"
#include "mixer_fixture.hpp"
#include "op_sums.hpp"

using namespace shardfit;
using namespace shardfit::block;

namespace {

MoeMlpSpec deepseek_v3() {
  MoeMlpSpec spec;
  spec.num_experts = 256;
  spec.num_experts_per_tok = 8;
  spec.intermediate_size = 2048;
  spec.router.correction_bias = true;
  spec.router.n_group = 8;
  spec.router.topk_group = 4;
  spec.shared_expert = SharedExpertSpec{2048, false};
  return spec;
}

Shapes on_ep(int ep, int tp = 1) {
  Shapes s = shapes_of(7168, 4096, tp);
  s.ep = ep;
  s.etp = 1;
  return s;
}

OpList moe(const MoeMlpSpec& spec, const Shapes& s) {
  OpList ops;
  append_moe(spec, s, ops);
  return ops;
}

Op find(const OpList& ops, std::string_view name) {
  for (const Op& op : ops)
    if (op.name == name) return op;
  FAIL("no operation of that name");
  return ops.front();
}

double syncs(const OpList& ops) {
  double sum = 0;
  for (const Op& op : ops) sum += op.forward.host.syncs + op.backward.host.syncs;
  return sum;
}

std::int64_t routed_bytes(const OpList& ops) {
  std::int64_t sum = 0;
  for (const Op& op : ops)
    for (const Saved& t : op.saved)
      if (t.routed) sum += t.bytes.value;
  return sum;
}

const Kernel& kernel(const Op& op, KernelKind kind, Pass pass) {
  for (const Work* work : {&op.forward, &op.backward})
    for (const Kernel& k : work->kernels)
      if (k.kind == kind && k.pass == pass) return k;
  FAIL("no kernel of that kind");
  return op.forward.kernels.front();
}

}  // namespace

TEST_CASE("a DeepSeek-V3 MoE layer keeps what was measured") {
  // 4096 tokens, top 8: 32768 rows. The sum is the one that met four measured SimuMax peaks within 34 MiB.
  const OpList ops = moe(deepseek_v3(), on_ep(8));
  CHECK(saved_bytes(ops, "expert_in") == 448 * kMiB);
  CHECK(saved_bytes(ops, "expert_fc1_out") == 256 * kMiB);
  CHECK(saved_bytes(ops, "expert_activation_out") == 128 * kMiB);
  CHECK(saved_bytes(ops, "router_scores") == 9 * kMiB);
  CHECK(saved_bytes(ops, "fc1_out") == 32 * kMiB);
  CHECK(saved_bytes(ops, "activation_out") == 16 * kMiB);
  CHECK(saved_bytes(ops, "expert_probabilities") == 32768 * 4);
  CHECK(saved_bytes(ops) == 889 * kMiB + 32768 * 4);
  CHECK(saved_bytes(ops, "expert_activation_unweighted") == -1);
}

TEST_CASE("backward holds four expert buffers and two gradients of the stream") {
  const Op fc1 = find(moe(deepseek_v3(), on_ep(8)), "expert_fc1");
  REQUIRE(fc1.transients.size() == 1);
  CHECK(fc1.transients[0].bytes == mib(4 * 448 + 2 * 56));
  CHECK(fc1.transients[0].routed == mib(4 * 448));
  CHECK(fc1.transients[0].moment == Moment::backward);
}

TEST_CASE("recompute modules drop what they run again") {
  const OpList ops = moe(deepseek_v3(), on_ep(8));
  CHECK(dropped_bytes(ops, RecomputeModule::moe) == saved_bytes(ops));
  CHECK(dropped_bytes(ops, RecomputeModule::moe_act) == 128 * kMiB);
  CHECK(dropped_bytes(ops, RecomputeModule::shared_experts) == 48 * kMiB);
  for (const Op& op : ops) CHECK(op.recomputed_by.contains(RecomputeModule::moe));
  for (const Op& op : ops)
    CHECK(op.recomputed_by.contains(RecomputeModule::moe_act) ==
          (std::string_view(op.name) == "expert_activation"));
}

TEST_CASE("expert activations that do not take the routing weight are kept twice") {
  MoeMlpSpec spec = deepseek_v3();
  spec.gated = false;
  spec.activation = "gelu";
  CHECK(saved_bytes(moe(spec, on_ep(8)), "expert_activation_unweighted") == 128 * kMiB);
  spec.activation = "relu2";  // a fused kernel squares and weighs at once
  CHECK(saved_bytes(moe(spec, on_ep(8)), "expert_activation_unweighted") == -1);
}

TEST_CASE("rows follow tokens, top-k and expert tensor parallelism; widths shrink by it") {
  Shapes s = on_ep(8, 4);
  s.etp = 2;
  const MoeSizes z = moe_sizes(deepseek_v3(), s);
  CHECK(z.tokens == 1024);
  CHECK(z.rows == 1024 * 8 * 2);
  CHECK(z.width == 1024);
  CHECK(z.local_experts == 32);
  CHECK(z.group == 16);
  const OpList ops = moe(deepseek_v3(), s);
  CHECK(saved_bytes(ops, "expert_fc1_out") == 16384LL * 2 * 1024 * 2);
  CHECK(elements(ops, ParamGroup::routed_experts) == 32LL * 3 * 7168 * 1024);
  const double rows = 16384.0 * 7168 * 2;
  CHECK(traffic_bytes(ops, Group::etp, CollectiveKind::all_gather, false) == rows);
  CHECK(traffic_bytes(ops, Group::etp, CollectiveKind::reduce_scatter, false) == rows);
  CHECK(traffic_bytes(ops, Group::etp, CollectiveKind::all_gather, true) == rows);
}

TEST_CASE(
    "imbalance reaches kernels and traffic, but kept bytes stay at balance and say which of them grow") {
  Shapes s = on_ep(8);
  const OpList balanced = moe(deepseek_v3(), s);
  s.expert_load = 1.25;
  const OpList busy = moe(deepseek_v3(), s);
  CHECK(saved_bytes(busy) == saved_bytes(balanced));
  CHECK(routed_bytes(busy) == (448 + 256 + 128) * kMiB + 32768 * 4);
  CHECK(kernel(find(balanced, "expert_fc1"), KernelKind::grouped_gemm, Pass::forward).m == 1024);
  CHECK(kernel(find(busy, "expert_fc1"), KernelKind::grouped_gemm, Pass::forward).m == 1280);
  CHECK(find(busy, "dispatch").forward.traffic.at(0).tokens == 4096 * 1.25);
}

TEST_CASE("capacity fixes the rows when padded, and bounds them when only dropped") {
  Shapes s = on_ep(8);
  s.capacity_factor = 1.5;
  s.expert_load = 1.3;
  s.drop_and_pad = true;
  s.host_free_dispatch = true;
  // ceil(4096*8/256 * 1.5) = 192 tokens an expert and rank.
  MoeSizes z = moe_sizes(deepseek_v3(), s);
  CHECK(z.rows == 256 * 192);
  CHECK(z.busy_rows == z.rows);
  const OpList ops = moe(deepseek_v3(), s);
  CHECK(routed_bytes(ops) == 0);
  CHECK(syncs(ops) == 0);
  s.drop_and_pad = false;
  z = moe_sizes(deepseek_v3(), s);
  CHECK(z.rows == 4096 * 8);
  s.capacity_factor = 0.5;
  CHECK(moe_sizes(deepseek_v3(), s).rows == 256 * 64);
}

TEST_CASE("the host waits once for a dropless dispatch unless the rows are known") {
  Shapes s = on_ep(8);
  for (Dispatcher d : {Dispatcher::alltoall, Dispatcher::deepep, Dispatcher::hybridep}) {
    s.dispatcher = d;
    CHECK(syncs(moe(deepseek_v3(), s)) == 1);
  }
  s.host_free_dispatch = true;
  CHECK(syncs(moe(deepseek_v3(), s)) == 0);
}

TEST_CASE("dispatchers move tokens their own way") {
  Shapes s = on_ep(64);
  const Traffic alltoall = find(moe(deepseek_v3(), s), "dispatch").forward.traffic.at(0);
  CHECK(alltoall.group == Group::ep);
  CHECK(alltoall.kind == CollectiveKind::dispatch);
  CHECK(alltoall.bytes == 4096.0 * 8 * 7168 * 2);
  CHECK(alltoall.hides == Hides::expert_overlap);
  CHECK(alltoall.groups_chosen == 4);
  CHECK(alltoall.num_groups == 8);
  s.dispatcher = Dispatcher::hybridep;
  const OpList hybrid = moe(deepseek_v3(), s);
  CHECK(find(hybrid, "dispatch").forward.traffic.at(0).group == Group::tp_ep);
  CHECK(find(hybrid, "dispatch").backward.traffic.at(0).kind == CollectiveKind::combine);
  CHECK(find(hybrid, "combine").backward.traffic.at(0).kind == CollectiveKind::dispatch);
  // Routing map of the whole group: 3 B for each of T*G*E; handle: 4*T*E and T*E.
  CHECK(moved_bytes({find(hybrid, "preprocess")}, KernelKind::memory, false) == 3.0 * 4096 * 64 * 256);
  CHECK(saved_bytes(hybrid, "dispatch_maps") == 4096LL * 256 * 5);
  s.dispatcher = Dispatcher::allgather;
  const OpList gathered = moe(deepseek_v3(), s);
  CHECK(traffic_bytes(gathered, Group::tp_ep, CollectiveKind::all_gather, false) == 4096.0 * 64 * 7168 * 2);
  CHECK(traffic_bytes(gathered, Group::tp_ep, CollectiveKind::reduce_scatter, false) ==
        4096.0 * 64 * 7168 * 2);
}

TEST_CASE("HybridEP's tokens bring a row of probabilities there and its gradient back, DeepEP's do not") {
  Shapes s = on_ep(64);
  s.dispatcher = Dispatcher::hybridep;
  const OpList hybrid = moe(deepseek_v3(), s);
  const double token = 7168 * 2, row = 4 * 256;
  CHECK(find(hybrid, "dispatch").forward.traffic.at(0).width_bytes == token + row);
  CHECK(find(hybrid, "dispatch").backward.traffic.at(0).width_bytes == token + row);
  CHECK(find(hybrid, "combine").forward.traffic.at(0).width_bytes == token);
  CHECK(find(hybrid, "combine").backward.traffic.at(0).width_bytes == token);
  s.domain_share = 0.125;   // eight domains: a token goes to one with that domain's experts only
  CHECK(find(moe(deepseek_v3(), s), "dispatch").forward.traffic.at(0).width_bytes == token + row / 8);
  s.dispatcher = Dispatcher::deepep;
  CHECK(find(moe(deepseek_v3(), s), "dispatch").forward.traffic.at(0).width_bytes == token);
}

TEST_CASE("quantised rows behind alltoall are padded and unpadded, unless their number is fixed") {
  Shapes s = on_ep(8);
  const double plain = moved_bytes(moe(deepseek_v3(), s), KernelKind::permute, false);
  s.precision = Precision::mxfp8;
  CHECK(moved_bytes(moe(deepseek_v3(), s), KernelKind::permute, false) == plain + 8.0 * 32768 * 7168);
  s.drop_and_pad = true;
  s.capacity_factor = 1;
  CHECK(moved_bytes(moe(deepseek_v3(), s), KernelKind::permute, false) == plain);
}

TEST_CASE("the router's backward casts to fp32, and its input's readers add up their gradients") {
  const OpList ops = moe(deepseek_v3(), on_ep(8));
  // 12 B an element of casts; the shared expert and the dispatch are two more readers of 6 B each; 30 B a score.
  CHECK(moved_bytes({find(ops, "router")}, KernelKind::memory, true) ==
        (12.0 + 2 * 6) * 4096 * 7168 + 30.0 * 4096 * 256);
}

TEST_CASE("one rank for all experts sends nothing") {
  const OpList ops = moe(deepseek_v3(), on_ep(1));
  for (const Op& op : ops) CHECK(op.forward.traffic.empty());
  CHECK(moved_bytes(ops, KernelKind::permute, false) == 8.0 * 4096 * 8 * 7168);
}

TEST_CASE(
    "permutation moves eight bytes an element of rows sent and received; the libraries fuse most of it") {
  Shapes s = on_ep(8);
  CHECK(moved_bytes(moe(deepseek_v3(), s), KernelKind::permute, false) == 8.0 * 2 * 32768 * 7168);
  s.dispatcher = Dispatcher::hybridep;
  const double hits = distinct_hits(8, 8);
  CHECK(hits == doctest::Approx(5.2513).epsilon(1e-4));
  CHECK(moved_bytes(moe(deepseek_v3(), s), KernelKind::permute, true) ==
        doctest::Approx(4.0 * 4096 * 7168 * (hits + 8)));
}

TEST_CASE("experts in a latent width work in it, behind two shared projections") {
  MoeMlpSpec spec = deepseek_v3();
  spec.latent_size = 1024;
  const OpList ops = moe(spec, on_ep(8));
  CHECK(elements(ops, ParamGroup::latent_projection) == 2LL * 7168 * 1024);
  CHECK(saved_bytes(ops, "expert_in") == 64 * kMiB);
  CHECK(saved_bytes(ops, "latent_up_in") == 8 * kMiB);
  CHECK(find(ops, "dispatch").forward.traffic.at(0).width_bytes == 2048);
}

TEST_CASE("fp8 experts keep quantised inputs and cast them; the fused MLP has no inner cast") {
  Shapes s = on_ep(8);
  s.precision = Precision::mxfp8;
  s.generation = GpuGeneration::blackwell;
  const OpList ops = moe(deepseek_v3(), s);
  CHECK(saved_bytes(ops, "expert_in") == 224 * kMiB * 33 / 32);
  CHECK(saved_bytes(ops, "expert_activation_out") == 64 * kMiB * 33 / 32);
  CHECK(saved_bytes(ops, "expert_fc1_out") == 256 * kMiB);
  const Op fc2 = find(ops, "expert_fc2");
  CHECK(moved_bytes({fc2}, KernelKind::quantize, false) == doctest::Approx(4.1 * 32768 * 2048));
  s.fused_grouped_mlp = true;
  const OpList fused = moe(deepseek_v3(), s);
  CHECK(moved_bytes({find(fused, "expert_fc2")}, KernelKind::quantize, false) == 0);
  CHECK(moved_bytes({find(fused, "expert_activation")}, KernelKind::memory, false) == 32768.0 * 2048 * 2);
  CHECK(host_work(fused, false).kernels < host_work(ops, false).kernels / 1.5);
}

TEST_CASE("an eager layer launches with its local experts") {
  const HostWork work = host_work(moe(deepseek_v3(), on_ep(8)), false);
  CHECK(work.calls == 9 + 5 + 7 + (2 + 2 + 2) + 5 + 5);
  CHECK(work.kernels == 10 + 12 + 10 + (32 + 1 + 32) + 4 + 4);
}

TEST_CASE("mxfp8 experts are cast one by one, their scales rearranged together; the activation's backward is two kernels") {
  Shapes s = on_ep(8);
  s.precision = Precision::mxfp8;
  s.generation = GpuGeneration::blackwell;
  const OpList ops = moe(deepseek_v3(), s);
  // Two casts of 32 experts, scales of two grouped GEMMs; the shared expert's two linears; padding.
  CHECK(host_work(ops, false).kernels == 105 + 2 * 32 + 4 + 2 * 3 + 2);
  // 8 tensors of 32768 rows by 2048 in bf16: 3 read and 2 written by the first kernel, 3 read by the second.
  CHECK(moved_bytes({find(ops, "expert_activation")}, KernelKind::memory, true) == 32768.0 * 2048 * 2 * 8);
}

TEST_CASE("a frozen layer keeps what gradients through it need") {
  Shapes s = on_ep(8);
  s.train_weights = false;
  const OpList ops = moe(deepseek_v3(), s);
  CHECK(saved_bytes(ops, "expert_in") == -1);
  CHECK(saved_bytes(ops, "expert_activation_out") == -1);
  CHECK(saved_bytes(ops, "expert_fc1_out") == 256 * kMiB);
  CHECK(gemm_flops(ops, Pass::wgrad) == 0);
  s.needs_input_grad = false;
  CHECK(saved_bytes(moe(deepseek_v3(), s)) == 0);
}

TEST_CASE("all local experts share one LoRA pair") {
  Shapes s = on_ep(8);
  s.train_weights = false;
  s.lora_rank = 32;
  s.lora_targets = {LoraTarget::linear_fc1};
  MoeMlpSpec spec = deepseek_v3();
  spec.shared_expert.reset();
  const OpList ops = moe(spec, s);
  CHECK(elements(ops, ParamGroup::lora) == 32LL * (7168 + 4096));
  CHECK(saved_bytes(ops, "expert_in") == 448 * kMiB);
  CHECK(saved_bytes(ops, "expert_activation_out") == -1);
}

TEST_CASE("graph scopes cover the router's side, and the shared expert unless it overlaps the dispatch") {
  Shapes s = on_ep(8);
  OpList ops = moe(deepseek_v3(), s);
  CHECK(find(ops, "router").scope == GraphScope::moe_router);
  CHECK(find(ops, "preprocess").scope == GraphScope::moe_preprocess);
  CHECK(find(ops, "expert_fc1").scope == GraphScope::moe);
  CHECK(find(ops, "shared_fc1").scope == GraphScope::moe_router);
  s.moe_shared_expert_overlap = true;
  ops = moe(deepseek_v3(), s);
  CHECK_FALSE(find(ops, "shared_fc1").scope);
}

TEST_CASE("offload scopes hold the tensors that Megatron names") {
  const OpList ops = moe(deepseek_v3(), on_ep(8));
  CHECK(find(ops, "expert_fc1").saved.at(0).offload == OffloadModule::expert_fc1);
  CHECK(find(ops, "expert_activation").saved.at(0).offload == OffloadModule::moe_act);
  CHECK_FALSE(find(ops, "expert_fc2").saved.at(0).offload);
}
