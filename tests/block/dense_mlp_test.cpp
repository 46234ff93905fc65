// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>

#include "block/blocks.hpp"
#include "block/linear.hpp"
#include "mixer_fixture.hpp"
#include "op_sums.hpp"

using namespace shardfit;
using namespace shardfit::block;

namespace {

DenseMlpSpec llama_70b() {
  DenseMlpSpec spec;
  spec.intermediate_size = 28672;
  return spec;
}

OpList mlp(const DenseMlpSpec& spec, const Shapes& s) {
  OpList ops;
  append_dense_mlp(spec, s, ops);
  return ops;
}

std::int64_t transient(const OpList& ops, Moment moment) {
  std::int64_t most = 0;
  for (const Op& op : ops)
    for (const Transient& t : op.transients)
      if (t.moment == moment) most = std::max(most, t.bytes.value);
  return most;
}

}  // namespace

TEST_CASE("a gated MLP keeps its fc1 output and its activation") {
  // Llama-70B, 4096 tokens: fc1 out 4096*57344*2 B = 448 MiB, activation half of it (measured on SimuMax B200
  // runs).
  const OpList ops = mlp(llama_70b(), shapes_of(8192, 4096));
  CHECK(saved_bytes(ops, "fc1_out") == 448 * kMiB);
  CHECK(saved_bytes(ops, "activation_out") == 224 * kMiB);
  CHECK(saved_bytes(ops) == 672 * kMiB);
  CHECK(dropped_bytes(ops, RecomputeModule::mlp) == 672 * kMiB);
  // Backward of the first layer unwound: gradient of fc1's output and one of the stream, 448 + 64.
  CHECK(transient(ops, Moment::backward) == 512 * kMiB);
}

TEST_CASE("without a gate fc1 is half as wide") {
  DenseMlpSpec spec = llama_70b();
  spec.gated = false;
  const OpList ops = mlp(spec, shapes_of(8192, 4096));
  CHECK(saved_bytes(ops, "fc1_out") == 224 * kMiB);
  CHECK(elements(ops, ParamGroup::dense_mlp) == 2LL * 8192 * 28672);
}

TEST_CASE("tp shares weights, kept tensors and work; its traffic is two gathers and scatters each way") {
  const OpList whole = mlp(llama_70b(), shapes_of(8192, 4096));
  const OpList part = mlp(llama_70b(), shapes_of(8192, 4096, 4));
  CHECK(elements(whole, ParamGroup::dense_mlp) == 3LL * 8192 * 28672);
  CHECK(elements(part, ParamGroup::dense_mlp) * 4 == elements(whole, ParamGroup::dense_mlp));
  CHECK(saved_bytes(part) * 4 == saved_bytes(whole));
  for (Pass pass : {Pass::forward, Pass::dgrad, Pass::wgrad})
    CHECK(gemm_flops(part, pass) * 4 == doctest::Approx(gemm_flops(whole, pass)));
  CHECK(gemm_flops(whole, Pass::forward) == doctest::Approx(2.0 * 4096 * 3 * 8192 * 28672));
  const double stream = 4096.0 * 8192 * 2;
  CHECK(traffic_bytes(part, Group::tp, CollectiveKind::all_gather, false) == stream);
  CHECK(traffic_bytes(part, Group::tp, CollectiveKind::reduce_scatter, false) == stream);
  CHECK(traffic_bytes(part, Group::tp, CollectiveKind::all_gather, true) == 2 * stream);
  CHECK(traffic_bytes(part, Group::tp, CollectiveKind::reduce_scatter, true) == stream);
  CHECK(traffic_bytes(whole, Group::tp, CollectiveKind::all_gather, false) == 0);
}

TEST_CASE("quantised precision keeps fc2's input at its width and fc1's output in bf16") {
  Shapes s = shapes_of(8192, 4096);
  s.precision = s.run_precision = Precision::fp8_tensorwise;
  const OpList ops = mlp(llama_70b(), s);
  CHECK(saved_bytes(ops, "fc1_out") == 448 * kMiB);
  CHECK(saved_bytes(ops, "activation_out") == 112 * kMiB);
  CHECK(moved_bytes(ops, KernelKind::quantize, false) > 0);
  s.precision = s.run_precision = Precision::mxfp8;
  CHECK(saved_bytes(mlp(llama_70b(), s), "activation_out") == 112 * kMiB * 33 / 32);
}

TEST_CASE("a frozen MLP keeps what the activation's backward reads, and nothing if no gradient passes") {
  Shapes s = shapes_of(8192, 4096);
  s.train_weights = false;
  const OpList ops = mlp(llama_70b(), s);
  CHECK(saved_bytes(ops) == 448 * kMiB);
  CHECK(gemm_flops(ops, Pass::wgrad) == 0);
  CHECK(gemm_flops(ops, Pass::dgrad) == doctest::Approx(gemm_flops(ops, Pass::forward)));
  s.needs_input_grad = false;
  const OpList still = mlp(llama_70b(), s);
  CHECK(saved_bytes(still) == 0);
  CHECK(gemm_flops(still, Pass::dgrad) == 0);
  CHECK(host_work(still, true).calls == 0);
}

TEST_CASE("LoRA on fc1 and fc2 adds its two matrices and keeps fc2's input again") {
  Shapes s = shapes_of(8192, 4096);
  s.train_weights = false;
  s.lora_rank = 32;
  s.lora_targets = {LinearModule::linear_fc1, LinearModule::linear_fc2};
  const OpList ops = mlp(llama_70b(), s);
  CHECK(elements(ops, ParamGroup::lora) == 32LL * (8192 + 57344 + 28672 + 8192));
  CHECK(saved_bytes(ops, "activation_out") == 224 * kMiB);
  const double calls = host_work(ops, false).calls;
  s.lora_targets = {LinearModule::linear_qkv};
  CHECK(calls - host_work(mlp(llama_70b(), s), false).calls == 2 * 6);  // two adapters of six calls
  CHECK(elements(mlp(llama_70b(), s), ParamGroup::lora) == 0);
  CHECK(saved_bytes(mlp(llama_70b(), s), "activation_out") == -1);
}

TEST_CASE("calls and launches of the three operations") {
  const OpList ops = mlp(llama_70b(), shapes_of(8192, 4096));
  CHECK(host_work(ops, false).calls == 2 + 2 + 1);
  CHECK(host_work(ops, false).kernels == 3);
  CHECK(host_work(ops, true).calls == 2 + 1 + 2);
}

TEST_CASE("recompute by operation keeps the gate's product, and nothing else of a gated MLP") {
  Shapes s = shapes_of(8192, 4096);
  const std::int64_t whole = saved_bytes(mlp(llama_70b(), s));
  s.recompute_by_operation = true;
  const OpList ops = mlp(llama_70b(), s);
  CHECK(saved_bytes(ops) == whole);  // without recompute nothing changes
  CHECK(saved_bytes(ops, "gate_out") == 224 * kMiB);
  CHECK(dropped_bytes(ops, RecomputeModule::mlp) == whole - 224 * kMiB);
}
