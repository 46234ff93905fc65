// SPDX-License-Identifier: Apache-2.0
// Layers in bf16, precisions of single modules, an fp8 output projection: 0 layers cost nothing, all layers are a bf16 run's,
// what lies between lies between, and what the sweep sees is what an estimate says.
#include <doctest/doctest.h>

#include "io/load.hpp"
#include "laws/valid_layouts.hpp"

using namespace shardfit;

namespace {

Scenario scenario_of(const char* file, Precision precision) {
  Scenario s = io::load_scenario(std::string(SHARDFIT_SOURCE_DIR) + "/scenarios/" + file);
  s.job.training.precision = precision;
  s.job.training.fp8_param_gather = false;
  s.job.training.fp8_attention = false;
  return s;
}

void keep_in_bf16(Job& job, int start, int end) {
  job.training.first_last_layers_bf16 = true;
  job.training.num_layers_at_start_in_bf16 = start;
  job.training.num_layers_at_end_in_bf16 = end;
}

Bytes saved(const Estimate& e) {
  Bytes all;
  for (const StageMemory& stage : e.memory)
    for (std::size_t t = std::size_t(MemoryTerm::saved_attention); t <= std::size_t(MemoryTerm::saved_head); ++t)
      all += stage.ledger[MemoryTerm(t)];
  return all;
}

constexpr const char* kScenarios[] = {"llama-3-70b-gb200.json", "deepseek-v3-gb200.json", "qwen3.5-35b-a3b-gb200.json"};

}  // namespace

TEST_CASE("no layers in bf16 cost nothing") {
  for (const char* file : kScenarios) {
    const Scenario plain = scenario_of(file, Precision::mxfp8);
    Scenario none = plain;
    keep_in_bf16(none.job, 0, 0);
    const Estimator a(plain.job), b(none.job);
    for (const Layout& layout : test::valid_layouts(plain, 5)) {
      const Estimate x = a.evaluate(layout), y = b.evaluate(layout);
      CHECK(x.step_time_s == y.step_time_s);
      CHECK(x.verdict.need == y.verdict.need);
    }
  }
}

TEST_CASE("all layers in bf16 are those of a bf16 run") {
  const Scenario bf16 = scenario_of("llama-3-70b-gb200.json", Precision::bf16);
  Scenario all = scenario_of("llama-3-70b-gb200.json", Precision::nvfp4);
  keep_in_bf16(all.job, 1000, 1000);
  const Estimator a(bf16.job), b(all.job);
  for (const Layout& layout : test::valid_layouts(all, 10)) {
    const Estimate x = a.evaluate(layout), y = b.evaluate(layout);
    CHECK(y.step_time_s == doctest::Approx(x.step_time_s).epsilon(1e-6));
    CHECK(saved(x) == saved(y));
  }
}

TEST_CASE("each layer kept in bf16 takes as much or more, and no more than a bf16 run") {
  for (const char* file : kScenarios) {
    Scenario s = scenario_of(file, Precision::nvfp4);
    const Estimator bf16(scenario_of(file, Precision::bf16).job);
    for (const Layout& layout : test::valid_layouts(s, 5)) {
      Bytes kept;
      for (int layers : {0, 1, 2, 4, 9, 20}) {
        keep_in_bf16(s.job, 0, layers);
        const Estimate e = Estimator(s.job).evaluate(layout);
        CAPTURE(e.layout_id);
        CHECK(saved(e) >= kept);
        kept = saved(e);
      }
      CHECK(saved(bf16.evaluate(layout)) >= kept);
    }
  }
}

TEST_CASE("the sweep's numbers are the estimate's with layers, modules and the head in precisions of their own") {
  for (const char* file : kScenarios)
    for (const Precision precision : {Precision::mxfp8, Precision::nvfp4}) {
      Scenario s = scenario_of(file, precision);
      keep_in_bf16(s.job, 1, 2);
      s.job.training.fp8_output_proj = precision == Precision::mxfp8;
      s.job.training.quant_recipe.modules[LinearModule::linear_qkv] = Precision::bf16;
      s.job.training.quant_recipe.modules[LinearModule::linear_fc2] = Precision::mxfp8;
      s.job.training.quant_recipe.mtp = Precision::bf16;
      const Estimator estimator(s.job);
      Estimator::Workspace workspace;
      for (const Layout& layout : test::valid_layouts(s, 8)) {
        const Quick quick = estimator.quick(layout, workspace);
        const Estimate full = estimator.evaluate(layout);
        CAPTURE(full.layout_id);
        CHECK(quick.step_time_s == full.step_time_s);
        CHECK(quick.peak == full.verdict.need);
      }
    }
}

TEST_CASE("a pruned sweep with layers in bf16 finds what trying every layout finds") {
  Scenario s = scenario_of("llama-3-70b-gb200.json", Precision::mxfp8);
  keep_in_bf16(s.job, 3, 8);
  s.job.training.fp8_output_proj = true;
  s.space.tp = {1, 4};
  s.space.cp = {1};
  s.space.micro_batch_size = {1, 2};
  SweepOptions pruned;
  pruned.threads = 2;
  SweepOptions whole = pruned;
  whole.prune = false;
  const Estimator estimator(s.job);
  const SweepResult a = sweep(s, estimator, pruned), b = sweep(s, estimator, whole);
  CHECK(a.valid == b.valid);
  CHECK(a.fit == b.fit);
  REQUIRE(a.top.size() == b.top.size());
  for (std::size_t i = 0; i < a.top.size(); ++i) {
    CHECK(a.top[i].index == b.top[i].index);
    CHECK(a.top[i].quick.step_time_s == b.top[i].quick.step_time_s);
  }
}

TEST_CASE("an output projection in mxfp8 keeps its bf16 weight with copies beside it, and less of its input") {
  for (const char* file : {"llama-3-70b-gb200.json", "deepseek-v3-gb200.json"}) {
    Scenario s = scenario_of(file, Precision::mxfp8);
    const Estimator bf16(s.job);
    s.job.training.fp8_output_proj = true;
    const Estimator mxfp8(s.job);
    for (const Layout& layout : test::valid_layouts(s, 5)) {
      const Estimate a = bf16.evaluate(layout), b = mxfp8.evaluate(layout);
      const StageMemory &x = a.memory.back(), &y = b.memory.back();
      CHECK(y.ledger[MemoryTerm::weights] == x.ledger[MemoryTerm::weights]);
      CHECK(y.ledger[MemoryTerm::quantized_weights] > x.ledger[MemoryTerm::quantized_weights]);
      CHECK(y.ledger[MemoryTerm::saved_head] <= x.ledger[MemoryTerm::saved_head]);
      // Products are shorter where this stage sets the pace; the host has more to do, and may be what waits.
      CHECK(b.time.rows[TimeTerm::gemm].value <= a.time.rows[TimeTerm::gemm].value);
      if (layout.pp == 1) CHECK(b.time.rows[TimeTerm::gemm].value < a.time.rows[TimeTerm::gemm].value);
    }
  }
}

TEST_CASE("copies of experts in another precision are made by the ranks that hold the experts") {
  Scenario s = scenario_of("deepseek-v3-gb200.json", Precision::nvfp4);
  Layout layout;
  layout.ep = s.job.gpus;  // no other rank shares an expert, all share what is dense
  layout.sharding = Sharding::full;
  layout.dispatcher = Dispatcher::hybridep;
  const auto optimizer_s = [&](bool experts_in_mxfp8) {
    Job job = s.job;
    if (experts_in_mxfp8)
      for (const LinearModule m : {LinearModule::linear_fc1, LinearModule::linear_fc2})
        job.training.quant_recipe.modules[m] = Precision::mxfp8;
    return Estimator(job).evaluate(layout).time.rows[TimeTerm::optimizer].value;
  };
  CHECK(optimizer_s(true) >= optimizer_s(false));
}

TEST_CASE("an fp8 output projection is refused where Megatron has no Transformer Engine to run it") {
  Scenario s = scenario_of("deepseek-v3-gb200.json", Precision::mxfp8);
  s.job.training.fp8_output_proj = true;
  const auto refused = [&] {
    for (const Violation& v : all_violations(s.job, s.base))
      if (v.rule >= 0 && std::string_view(rules()[std::size_t(v.rule)].code) == "fp8_output_proj_te") return true;
    return false;
  };
  CHECK_FALSE(refused());
  s.job.stack.transformer_engine = false;
  CHECK(refused());
  s.job.stack.transformer_engine = true;
  s.job.stack.framework = Framework::torch_fsdp2;
  CHECK(refused());
}

TEST_CASE("quantised copies of MTP layers are as wide as the precision that a quant_recipe gives them") {
  const auto copies = [](std::optional<Precision> mtp) {
    Scenario s = scenario_of("deepseek-v3-gb200.json", Precision::nvfp4);
    s.job.training.quant_recipe.mtp = mtp;
    Layout layout;
    layout.ep = 64;
    REQUIRE(all_violations(s.job, layout).empty());
    return Estimator(s.job).evaluate(layout).memory[0].ledger[MemoryTerm::quantized_weights];
  };
  const Bytes none = copies(Precision::bf16), fp4 = copies(Precision::nvfp4), fp8 = copies(Precision::mxfp8);
  CHECK(copies(std::nullopt) == none);  // MTP layers never enter the fp4 context
  // 1.125 B a weight in both forms, against 2.0625.
  CHECK(double((fp8 - none).value) / double((fp4 - none).value) == doctest::Approx(2.0625 / 1.125).epsilon(0.001));
}
