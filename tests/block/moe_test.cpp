// SPDX-License-Identifier: Apache-2.0
// What an MoE layer keeps, runs and launches.
#include "moe_fixture.hpp"

using namespace shardfit;
using namespace shardfit::block;

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
    CHECK(op.recomputed_by.contains(RecomputeModule::moe_act) == (std::string_view(op.name) == "expert_activation"));
}

TEST_CASE("expert activations that do not take the routing weight are kept twice") {
  MoeMlpSpec spec = deepseek_v3();
  spec.gated = false;
  spec.activation = "gelu";
  CHECK(saved_bytes(moe(spec, on_ep(8)), "expert_activation_unweighted") == 128 * kMiB);
  spec.activation = "relu2";  // a fused kernel squares and weighs at once
  CHECK(saved_bytes(moe(spec, on_ep(8)), "expert_activation_unweighted") == -1);
}

TEST_CASE("the router's backward casts to fp32, and its input's readers add up their gradients") {
  const OpList ops = moe(deepseek_v3(), on_ep(8));
  // 12 B an element of casts; the shared expert and the dispatch are two more readers of 6 B each; 30 B a score.
  CHECK(moved_bytes({find(ops, "router")}, KernelKind::memory, true) == (12.0 + 2 * 6) * 4096 * 7168 + 30.0 * 4096 * 256);
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
  s.precision = s.run_precision = Precision::mxfp8;
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
  CHECK(moved_bytes({find(fused, "expert_activation")}, KernelKind::expert_activation, false) == 32768.0 * 2048 * 2);
  CHECK(host_work(fused, false).kernels < host_work(ops, false).kernels / 1.5);
}

TEST_CASE("an eager layer launches with its local experts") {
  const HostWork work = host_work(moe(deepseek_v3(), on_ep(8)), false);
  CHECK(work.calls == 9 + 5 + 7 + (2 + 2 + 2) + 5 + 5);
  CHECK(work.kernels == 10 + 12 + 10 + (32 + 1 + 32) + 4 + 4);
}

TEST_CASE("mxfp8 experts are cast one by one, their scales rearranged together; the activation's backward is two kernels") {
  Shapes s = on_ep(8);
  s.precision = s.run_precision = Precision::mxfp8;
  s.generation = GpuGeneration::blackwell;
  const OpList ops = moe(deepseek_v3(), s);
  // Two casts of 32 experts, scales of two grouped GEMMs; the shared expert's two linears; padding.
  CHECK(host_work(ops, false).kernels == 105 + 2 * 32 + 4 + 2 * 3 + 2);
  // 8 tensors of 32768 rows by 2048 in bf16: 3 read and 2 written by the first kernel, 3 read by the second.
  CHECK(moved_bytes({find(ops, "expert_activation")}, KernelKind::expert_activation, true) == 32768.0 * 2048 * 2 * 8);
}

TEST_CASE("casts after the first of a list are launched by a loop in C++; nvfp4's take all experts at once") {
  const auto looped = [](Precision precision, bool backward) {
    Shapes s = on_ep(8);
    s.precision = s.run_precision = precision;
    s.generation = GpuGeneration::blackwell;
    double sum = 0;
    for (const Op& op : moe(deepseek_v3(), s))
      for (const Kernel& k : (backward ? op.backward : op.forward).kernels) sum += k.looped;
    return sum;
  };
  CHECK(looped(Precision::mxfp8, false) == 2 * 31);  // inputs of two linears, 32 experts
  CHECK(looped(Precision::mxfp8, true) == 2 * 31);   // gradients of their outputs
  CHECK(looped(Precision::nvfp4, false) == 0);
  CHECK(looped(Precision::bf16, false) == 0);
}

TEST_CASE("expert biases: the first in its product, the second after it, which recompute of the activation does not repeat") {
  MoeMlpSpec spec = deepseek_v3();
  spec.bias = true;
  const OpList plain = moe(deepseek_v3(), on_ep(8)), biased = moe(spec, on_ep(8));
  const auto bytes = [](const OpList& ops, const char* name, bool backward) {
    return moved_bytes({find(ops, name)}, KernelKind::expert_activation, backward);
  };
  CHECK(bytes(biased, "expert_activation", false) == bytes(plain, "expert_activation", false));
  CHECK(bytes(biased, "expert_fc2", false) == 28.0 * 32768 * 7168);
  CHECK(bytes(biased, "expert_fc2", true) == 26.0 * 32768 * 7168);
  CHECK_FALSE(find(biased, "expert_fc2").recomputed_by.contains(RecomputeModule::moe_act));
  Shapes s = on_ep(8);
  s.fused_grouped_mlp = true;
  const OpList fused = moe(spec, s);
  CHECK(bytes(fused, "expert_fc2", false) == 0);
  CHECK(bytes(fused, "expert_fc2", true) == 2.0 * 32768 * 7168);  // the output's gradient once more
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
  s.lora_targets = {LinearModule::linear_fc1};
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
