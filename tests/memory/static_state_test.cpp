// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <utility>

#include "state_fixture.hpp"

using namespace shardfit;
using namespace shardfit::memory;

TEST_CASE("bytes a parameter by optimizer setting") {
  SUBCASE("bf16, whole optimizer: 2 + 4 + 12") { CHECK(per_parameter(bf16_adam(Sharding::none, 8)) == 18); }
  SUBCASE("bf16, distributed optimizer: 6 + 12/d") { CHECK(per_parameter(bf16_adam(Sharding::optimizer, 8)) == 7.5); }
  SUBCASE("2-byte gradients: 4 + 12/d, and a copy of 4/d that only the optimizer leaves behind") {
    StaticInputs in = bf16_adam(Sharding::optimizer, 8);
    in.optimizer.grad_buffer_dtype = DType::bf16;
    CHECK(per_parameter(in) == 6);
    CHECK(double(total(in, MemoryMoment::forward).value) == 5.5 * kElements);
  }
  SUBCASE("fp16 without a distributed optimizer: 2 + 2 + 12 + 4") {
    StaticInputs in = bf16_adam(Sharding::none, 8);
    in.precision = Precision::fp16;
    in.optimizer.grad_buffer_dtype = DType::fp16;
    CHECK(per_parameter(in) == 20);
  }
  SUBCASE("fp32: no master weight") {
    StaticInputs in = bf16_adam(Sharding::none, 8);
    in.precision = Precision::fp32;
    CHECK(per_parameter(in) == 16);
    in.sharding = Sharding::optimizer;
    CHECK(per_parameter(in) == 9);
  }
  SUBCASE("precision-aware: a 2-byte remainder makes the master weight") {
    StaticInputs in = bf16_adam(Sharding::optimizer, 8);
    in.optimizer.precision_aware = true;
    in.optimizer.exp_avg_dtype = in.optimizer.exp_avg_sq_dtype = DType::bf16;
    CHECK(per_parameter(in) == 6 + 6.0 / 8);
    in.optimizer.grad_buffer_dtype = in.optimizer.main_grads_dtype = DType::bf16;
    CHECK(per_parameter(in) == 4 + 6.0 / 8);
    in.optimizer.main_grads_dtype = DType::fp32;  // converted, so a copy
    CHECK(per_parameter(in) == 4 + 10.0 / 8);
  }
  SUBCASE("torch's optimizers step the parameters themselves, sharded or not; ZeRO 2 of another tool has masters") {
    StaticInputs in = bf16_adam(Sharding::none, 8);
    in.framework = Framework::torch_fsdp2;
    OptimizerSpec& o = in.optimizer;
    o.grad_buffer_dtype = o.main_params_dtype = o.exp_avg_dtype = o.exp_avg_sq_dtype = DType::bf16;
    CHECK(per_parameter(in) == 8);
    o.main_params_dtype = DType::fp32;
    CHECK(per_parameter(in) == 10);
    in.framework = Framework::other;
    in.sharding = Sharding::optimizer;
    CHECK(per_parameter(in) == 2 + 2 + 12.0 / 8 + 4.0 / 8);  // an fp32 copy of bf16 gradients too
  }
  SUBCASE("sgd keeps one moment") {
    StaticInputs in = bf16_adam(Sharding::none, 8);
    in.optimizer.kind = OptimizerKind::sgd;
    CHECK(per_parameter(in) == 14);
  }
  SUBCASE("Muon keeps one moment of matrices") {
    StaticInputs in = bf16_adam(Sharding::none, 8);
    in.optimizer.kind = OptimizerKind::muon;
    in.params.matrices = kElements / 2;
    CHECK(per_parameter(in) == 16);
  }
  SUBCASE("Megatron-FSDP shards all of it") {
    CHECK(per_parameter(bf16_adam(Sharding::full, 8)) == 18.0 / 8);
    CHECK(per_parameter(bf16_adam(Sharding::optimizer_grads, 8)) == 2 + 16.0 / 8);
  }
  SUBCASE("FSDP2 outside Megatron: the sharded weight is the master") {
    StaticInputs in = bf16_adam(Sharding::full_torch, 8);
    in.framework = Framework::torch_fsdp2;
    CHECK(per_parameter(in) == 16.0 / 8);
    in.optimizer.main_params_dtype = in.optimizer.grad_buffer_dtype = DType::bf16;
    in.optimizer.exp_avg_dtype = in.optimizer.exp_avg_sq_dtype = DType::bf16;
    CHECK(per_parameter(in) == 1);
  }
  SUBCASE("parameters kept in fp32 need no master weight") {
    StaticInputs in = bf16_adam(Sharding::none, 8);
    std::swap(in.params.dense, in.params.dense_fp32);
    CHECK(per_parameter(in) == 16);
  }
}

TEST_CASE("state of measured runs, to the byte that Megatron's buffers hold") {
  SUBCASE("64.1 M parameters on 8 ranks (gpt3_mcore_te_tp1_pp1_dist_optimizer): 122 + 245 + 92 MiB") {
    StaticInputs in = bf16_adam(Sharding::optimizer, 8);
    in.params.dense = 64'109'568;
    const StaticState s = static_state(in);
    CHECK(s.weights.value == 128'219'136);
    CHECK(s.gradients.value == 256'438'272);
    CHECK((s.master_weights + s.exp_avg + s.exp_avg_sq).value == 96'164'352);
  }
  SUBCASE("DeepSeek-V3 proxy, tp2 pp4 ep16 on 64 GPUs, last stage: experts are not sharded there (edp 1)") {
    StaticInputs in = bf16_adam(Sharding::optimizer, 8);
    in.params.dense = 3'103'879'168 - 704'643'072;
    in.params.expert = 704'643'072;
    in.expert_shards = 1;
    const StaticState s = static_state(in);
    CHECK(s.weights.value == 6'207'758'336);
    CHECK((s.master_weights + s.exp_avg + s.exp_avg_sq).value == doctest::Approx(12'054'571'008).epsilon(1e-6));
  }
  SUBCASE("Megatron-FSDP, 32.4 M parameters on 4 ranks (gpt3_mcore_te_tp2_zp_z3)") {
    StaticInputs in = bf16_adam(Sharding::full, 4);
    in.params.dense = 32'368'640;
    CHECK(total(in).value == 16'184'320 + 32'368'640 + 97'105'920);
  }
}

TEST_CASE("one rank's sharding costs what none costs") {
  for (Sharding s : {Sharding::optimizer, Sharding::optimizer_grads, Sharding::full})
    CHECK(total(bf16_adam(s, 1)) == total(bf16_adam(Sharding::none, 1)));
}

TEST_CASE("more ranks never cost more") {
  for (Sharding s : {Sharding::none, Sharding::optimizer, Sharding::optimizer_grads, Sharding::full, Sharding::full_torch})
    for (int ranks = 1; ranks < 512; ranks *= 2) CHECK(total(bf16_adam(s, 2 * ranks)) <= total(bf16_adam(s, ranks)));
}

TEST_CASE("experts that no other rank shares keep all of their state") {
  StaticInputs in = bf16_adam(Sharding::optimizer, 16);
  std::swap(in.params.dense, in.params.expert);
  in.expert_shards = 1;
  CHECK(per_parameter(in) == 18);
}

TEST_CASE("frozen weights have no gradient and no state") {
  StaticInputs in = bf16_adam(Sharding::none, 8);
  std::swap(in.params.dense, in.params.frozen_dense);
  const StaticState s = static_state(in);
  CHECK(s.weights.value == 2 * kElements);
  CHECK(total(in).value == 2 * kElements);
  in.sharding = Sharding::full;
  CHECK(total(in).value == 2 * kElements / 8);
}

TEST_CASE("moments appear in the first optimizer step") {
  const StaticInputs in = bf16_adam(Sharding::optimizer, 4);
  const StaticState s = static_state(in);
  CHECK(total(in) - total(in, MemoryMoment::first_step) == s.exp_avg + s.exp_avg_sq);
  CHECK(total(in, MemoryMoment::after_build) == total(in, MemoryMoment::first_step));
}

TEST_CASE("optimizer offload leaves master weights that the distributed optimizer made on the device") {
  StaticInputs in = bf16_adam(Sharding::optimizer, 4);
  const StaticState before = static_state(in);
  in.optimizer_offload = 1;
  const StaticState s = static_state(in);
  CHECK(s.master_weights == before.master_weights);
  CHECK(s.exp_avg.value + s.exp_avg_sq.value == 0);
  CHECK(s.on_host.value == 8 * kElements / 4);
}

TEST_CASE("optimizer offload moves state to the host and loses none") {
  StaticInputs in = bf16_adam(Sharding::optimizer, 4);
  const Bytes all = total(in);
  in.optimizer.precision_aware = true;  // with offload its master weights are whole, no remainders
  for (double fraction : {0.25, 0.5, 1.0}) {
    in.optimizer_offload = fraction;
    const StaticState s = static_state(in);
    CHECK(double(s.on_host.value) == fraction * 12 * kElements / 4);
    CHECK(total(in) + s.on_host == all);
  }
}

TEST_CASE("quantised forms of linear weights") {
  StaticInputs in = bf16_adam(Sharding::none, 1);
  in.params.linear_dense = in.params.linear_trainable_dense = kElements / 2;
  in.precision = Precision::fp8_tensorwise;
  SUBCASE("per tensor beside bf16: two on Hopper, one where any operand layout multiplies") {
    CHECK(static_state(in).quantized_weights.value == kElements);
    CHECK(per_parameter(in) == 19);
    in.generation = GpuGeneration::blackwell;
    CHECK(per_parameter(in) == 18.5);
  }
  SUBCASE("gathered quantised, they replace the bf16 weight") {
    in.fp8_param_gather = true;
    CHECK(static_state(in).weights.value == kElements);
    CHECK(per_parameter(in) == 18);
  }
  SUBCASE("mxfp8 and nvfp4 carry a scale for every 32 and 16 elements") {
    in.precision = Precision::mxfp8;
    CHECK(static_state(in).quantized_weights.value == kElements + kElements / 32);
    in.precision = Precision::nvfp4;
    CHECK(static_state(in).quantized_weights.value == kElements / 2 + kElements / 16);
  }
  SUBCASE("a quantised weight has no bf16 form that a remainder could complete") {
    in.fp8_param_gather = true;
    in.sharding = Sharding::optimizer;
    in.optimizer.precision_aware = true;
    in.precision = Precision::fp8_delayed;
    CHECK(static_state(in).master_weights.value == kElements / 2 * 2 + kElements / 2 * 4);
    in.precision = Precision::fp8_tensorwise;  // here the distributed optimizer makes all of them
    CHECK(static_state(in).master_weights.value == kElements * 4);
  }
}

TEST_CASE("per-tensor fp8 weights: one form on Blackwell and where no transposed one is cached") {
  const auto bytes = [](GpuGeneration g, bool cache) {
    return quantized_forms(Precision::fp8_tensorwise, true, g, cache).bytes;
  };
  CHECK(bytes(GpuGeneration::hopper, true) == 2);
  CHECK(bytes(GpuGeneration::hopper, false) == 1);
  CHECK(bytes(GpuGeneration::blackwell, true) == 1);
}
