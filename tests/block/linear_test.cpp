// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "block/linear.hpp"
#include "mixer_fixture.hpp"

using namespace shardfit;
using namespace shardfit::block;

namespace {

Linear column() {
  Linear l;
  l.name = "linear";
  l.tokens = 1000;
  l.out = 512;
  l.in = 256;
  return l;
}

OpList run(const Linear& l, const Shapes& s) {
  Op op;
  add_linear(op, l, s);
  return {op};
}

}  // namespace

TEST_CASE("forward, dgrad and wgrad do the same work in different shapes") {
  const OpList ops = run(column(), shapes_of(256, 1000));
  for (Pass pass : {Pass::forward, Pass::dgrad, Pass::wgrad}) CHECK(gemm_flops(ops, pass) == 2.0 * 1000 * 512 * 256);
  const Kernel& wgrad = ops[0].backward.kernels[1];
  CHECK(wgrad.pass == Pass::wgrad);
  CHECK(wgrad.m == 512);
  CHECK(wgrad.n == 256);
  CHECK(wgrad.k == 1000);
  CHECK(wgrad.accumulate_bytes == 4);
}

TEST_CASE("a frozen weight has no wgrad, a first layer no dgrad") {
  Shapes s = shapes_of(256, 1000);
  s.train_weights = false;
  CHECK(gemm_flops(run(column(), s), Pass::wgrad) == 0);
  CHECK(gemm_flops(run(column(), s), Pass::dgrad) > 0);
  s.train_weights = true;
  s.needs_input_grad = false;
  CHECK(gemm_flops(run(column(), s), Pass::dgrad) == 0);
}

TEST_CASE("quantised operands: one pass over the input forward, over the output's gradient backward") {
  Shapes s = shapes_of(256, 1000);
  s.precision = s.run_precision = Precision::fp8_tensorwise;
  CHECK(moved_bytes(run(column(), s), KernelKind::quantize, false) == 1000 * 256 * 6.0);
  CHECK(moved_bytes(run(column(), s), KernelKind::quantize, true) == 1000 * 512 * 6.0);
  s.generation = GpuGeneration::blackwell;
  CHECK(moved_bytes(run(column(), s), KernelKind::quantize, false) == 1000 * 256 * 5.0);
  s.precision = s.run_precision = Precision::mxfp8;
  CHECK(moved_bytes(run(column(), s), KernelKind::quantize, false) == doctest::Approx(1000 * 256 * 4.1));
  Linear l = column();
  l.input_already_cast = true;
  CHECK(moved_bytes(run(l, s), KernelKind::quantize, false) == 0);
  l.quantized = false;
  CHECK(moved_bytes(run(l, s), KernelKind::quantize, true) == 0);
  CHECK(run(l, s)[0].forward.kernels[0].math == Math::bf16);
}

TEST_CASE("blocks of 128 run as mxfp8 on Blackwell under Transformer Engine") {
  Shapes s = shapes_of(256, 1000);
  s.precision = s.run_precision = Precision::fp8_blockwise;
  s.generation = GpuGeneration::hopper;
  const auto math = [&] { return run(column(), s)[0].forward.kernels.back().math; };
  CHECK(math() == Math::fp8_block);
  s.generation = GpuGeneration::blackwell;
  CHECK(math() == Math::mxfp8);
  CHECK(run(column(), s)[0].forward.kernels.back().launches == 3);  // the product, and the scales of either operand
  s.transformer_engine = false;
  CHECK(math() == Math::fp8_block);
}

TEST_CASE("kept linear inputs by precision") {
  Op op;
  Shapes s = shapes_of(256, 1000);
  const auto kept = [&](Precision p) {
    s.precision = s.run_precision = p;
    Op one;
    keep_linear_input(one, s, "input", 1024, 256);
    return saved_bytes({one});
  };
  CHECK(kept(Precision::bf16) == 2 * 1024 * 256);
  CHECK(kept(Precision::fp8_tensorwise) == 1024 * 256);
  CHECK(kept(Precision::mxfp8) == 1024 * 256 + 1024 * 8);
  CHECK(kept(Precision::fp8_blockwise) == 1024 * 256 + 1024 * 2 * 4);
  CHECK(kept(Precision::nvfp4) == 1024 * 128 + 1024 * 16);
}

TEST_CASE("a column and a row linear under sequence parallelism") {
  Shapes s = shapes_of(256, 1000, 2);
  Op op;
  add_column_traffic(op, s, 256);
  add_row_traffic(op, s, 256);
  const double whole = 1000 * 256 * 2.0;
  CHECK(traffic_bytes({op}, Group::tp, CollectiveKind::all_gather, false) == whole);
  CHECK(traffic_bytes({op}, Group::tp, CollectiveKind::reduce_scatter, false) == whole);
  CHECK(traffic_bytes({op}, Group::tp, CollectiveKind::all_gather, true) == 2 * whole);
  CHECK(traffic_bytes({op}, Group::tp, CollectiveKind::reduce_scatter, true) == whole);
  CHECK(op.forward.traffic[0].hides == Hides::nothing);
  CHECK(op.backward.traffic[0].hides == Hides::gemm);
  s.precision = s.run_precision = Precision::fp8_tensorwise;
  Op quantised;
  add_column_traffic(quantised, s, 256);
  CHECK(traffic_bytes({quantised}, Group::tp, CollectiveKind::all_gather, false) == whole / 2);
  CHECK(traffic_bytes({quantised}, Group::tp, CollectiveKind::reduce_scatter, true) == whole);
}

TEST_CASE("gathers go by the precision of the module that reads or writes them") {
  const auto gathered = [](MixerKind kind, std::optional<LinearModule> in_bf16, bool backward) {
    Shapes s = shapes_of(4096, 1024, 2);
    s.precision = s.run_precision = Precision::fp8_tensorwise;
    if (in_bf16) s.module_precision[*in_bf16] = Precision::bf16;
    return traffic_bytes(mixer_block(kind, s), Group::tp, CollectiveKind::all_gather, backward);
  };
  GqaSpec gqa;
  gqa.num_attention_heads = gqa.num_key_value_heads = 32;
  gqa.head_dim = 128;
  MlaSpec mla;
  mla.num_attention_heads = 32;
  mla.q_lora_rank = 1536;
  mla.kv_lora_rank = 512;
  mla.qk_nope_head_dim = mla.v_head_dim = 128;
  mla.qk_rope_head_dim = 64;
  CompressedMqaSpec mqa;
  mqa.num_attention_heads = 32;
  mqa.head_dim = 128;
  mqa.qk_rope_head_dim = 64;
  mqa.q_lora_rank = 1024;
  mqa.o_groups = 8;
  mqa.o_lora_rank = 512;
  struct {
    MixerKind kind;
    LinearModule module;
    double width;
    bool column;
  } const cases[] = {{gqa, LinearModule::linear_qkv, 4096, true},       {gqa, LinearModule::linear_proj, 4096, false},
                     {mla, LinearModule::linear_q_up_proj, 1536, true}, {mla, LinearModule::linear_kv_up_proj, 512, true},
                     {mla, LinearModule::linear_proj, 4096, false},     {mqa, LinearModule::linear_q_up_proj, 1024, true},
                     {mqa, LinearModule::linear_proj, 4096, false}};
  for (const auto& c : cases) {
    CAPTURE(name_of(c.module));
    // From one byte an element to two: the input before both passes of a column linear, the gradient after a row linear.
    const double more = 1024 * c.width;
    CHECK(gathered(c.kind, c.module, false) - gathered(c.kind, std::nullopt, false) == (c.column ? more : 0));
    CHECK(gathered(c.kind, c.module, true) - gathered(c.kind, std::nullopt, true) == more);
  }
}

TEST_CASE("without sequence parallelism: one all-reduce each way, and none on one rank") {
  Shapes s = shapes_of(256, 1000, 2);
  s.sequence_parallel = false;
  Op op;
  add_column_traffic(op, s, 256);
  add_row_traffic(op, s, 256);
  const double whole = 1000 * 256 * 2.0;
  CHECK(traffic_bytes({op}, Group::tp, CollectiveKind::all_reduce, false) == whole);
  CHECK(traffic_bytes({op}, Group::tp, CollectiveKind::all_reduce, true) == whole);
  CHECK(op.forward.traffic.size() + op.backward.traffic.size() == 2);
  Op alone;
  add_column_traffic(alone, shapes_of(256, 1000), 256);
  add_row_traffic(alone, shapes_of(256, 1000), 256);
  CHECK(alone.forward.traffic.empty());
  CHECK(alone.backward.traffic.empty());
}

TEST_CASE("norms keep input, statistics and output") {
  Shapes s = shapes_of(256, 1000);
  const auto kept = [&](NormOutput output) { return saved_bytes({norm_op("norm", s, 256, {}, {}, output)}); };
  const std::int64_t tensor = 1000 * 256 * 2;
  CHECK(kept(NormOutput::one_linear) == 2 * tensor + 4000);
  CHECK(kept(NormOutput::two_linears) == 2 * tensor + 4000);
  CHECK(kept(NormOutput::not_kept) == tensor + 4000);
  s.norm = NormKind::layernorm;
  CHECK(kept(NormOutput::shared) == 2 * tensor + 8000);
  s.norm = NormKind::rmsnorm;
  s.precision = s.run_precision = Precision::fp8_tensorwise;
  CHECK(kept(NormOutput::one_linear) == tensor + tensor / 2 + 4000);
  CHECK(kept(NormOutput::two_linears) == 2 * tensor + 4000);
  CHECK(kept(NormOutput::shared) == 2 * tensor + 4000);
  s.train_weights = false;
  CHECK(kept(NormOutput::one_linear) == tensor + 4000);
  s.needs_input_grad = false;
  CHECK(kept(NormOutput::one_linear) == 0);
}

TEST_CASE("a norm written in single operations keeps its input in fp32 and the scaled input") {
  Shapes s = shapes_of(256, 1000);
  s.eager_elementwise = true;
  const std::int64_t tensor = 1000 * 256 * 2;
  CHECK(saved_bytes({norm_op("norm", s, 256, {}, {}, NormOutput::one_linear)}) == 4 * tensor + 4000);
}

TEST_CASE("LoRA: rank r on [out, in] trains r(in + out), split over tp on both kinds of base") {
  Shapes s = shapes_of(256, 1000, 4);
  s.train_weights = false;
  s.lora_rank = 16;
  s.lora_targets = {LinearModule::linear_qkv};
  Linear l = column();  // whole: [2048, 256]
  l.adapter = LinearModule::linear_qkv;
  OpList ops = run(l, s);
  CHECK(elements(ops, ParamGroup::lora) * 4 == 16 * (2048 + 256));
  CHECK(saved_bytes(ops, "lora_gathered_input") == 1000 * 256 * 2);
  CHECK(gemm_flops(ops, Pass::wgrad) == 2.0 * 1000 * (256 * 4 + 512 * 16));
  l.row_parallel = true;  // whole: [512, 1024]
  ops = run(l, s);
  CHECK(elements(ops, ParamGroup::lora) * 4 == 16 * (512 + 1024));
  CHECK(saved_bytes(ops, "lora_gathered_input") == -1);
  s.lora_targets = {LinearModule::linear_proj};
  CHECK(elements(run(l, s), ParamGroup::lora) == 0);
}
