// SPDX-License-Identifier: Apache-2.0
// How data-parallel traffic is cut into calls, and what reduces in the network: counted by hand from Megatron-Core's rules.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "io/load.hpp"
#include "shardfit/estimate/estimator.hpp"
#include "shardfit/report/views.hpp"
#include "shardfit/search/sweep.hpp"

using namespace shardfit;

namespace {

Scenario scenario_of(const std::string& model, const std::string& layout, const std::string& optimizer = "adam") {
  Scenario s = io::parse_scenario(R"({"model": ")" + model + R"(", "hardware": "gb200-nvl72", "gpus": 64,
    "training": {"precision": "bf16", "sequence_length": 4096, "global_batch_size": 256,
                 "optimizer": {"kind": ")" +
                                      optimizer + R"(", "grad_buffer_dtype": "fp32"}},
    "stack": "megatron-lm-2026-08", "layout": {)" +
                                      layout + "}}",
                                  "laws.json");
  s.base = layout_at(s, 0);
  const auto violation = first_violation(s.job, s.base);
  REQUIRE_MESSAGE(!violation, violation_text(*violation));
  return s;
}

TrafficRow row_of(const Estimate& e, const std::string& what, const std::string& collective, int stage = 0) {
  for (const TrafficRow& row : e.traffic)
    if (row.what == what && row.collective == collective && row.stage == stage) return row;
  FAIL("no row ", what, " ", collective);
  throw 0;
}

Estimate evaluate(const Scenario& s) { return Estimator(s.job).evaluate(s.base); }

}  // namespace

TEST_CASE("FSDP: dense calls a unit of the stage, expert calls a layer that has experts") {
  // 61 layers of which 58 have experts, an MTP layer with experts, an embedding and a head; 4 micro-batches.
  const Estimate e = evaluate(
      scenario_of("DeepSeek-V3", R"("tp": 1, "ep": 32, "etp": 1, "sharding": "full", "micro_batch_size": 1)"));
  const double m = 256.0 / 64;
  CHECK(row_of(e, "dense gradients", "reduce_scatter").calls_per_step == (61 + 1 + 2) * m);
  CHECK(row_of(e, "dense parameters", "all_gather").calls_per_step == (61 + 1 + 2) * 2 * m);
  CHECK(row_of(e, "expert gradients", "reduce_scatter").calls_per_step == (58 + 1) * m);
  CHECK(row_of(e, "expert parameters", "all_gather").calls_per_step == (58 + 1) * 2 * m);
}

TEST_CASE("buckets: the first chunk of the first stage is cut, every other chunk is one") {
  const Scenario s = scenario_of("Llama-3-8B",
                                 R"("tp": 2, "pp": 2, "vpp": 2, "sharding": "optimizer", "overlap": {"grad_reduce": true})");
  const Estimate e = evaluate(s);
  const TrafficRow first = row_of(e, "dense gradients", "reduce_scatter"),
                   last = row_of(e, "dense gradients", "reduce_scatter", 1);
  const double elements = first.payload_bytes * first.calls_per_step / 4;
  CHECK(first.calls_per_step == std::ceil(elements / 2 / 40e6) + 1);  // dp 16: a million elements a rank are fewer
  CHECK(last.calls_per_step == 2);
  Scenario late = s;
  late.base.overlap.grad_reduce = false;
  CHECK(row_of(evaluate(late), "dense gradients", "reduce_scatter").calls_per_step == 2);
}

TEST_CASE("the layer-wise optimizer shards like the distributed one: reduce-scatter and gather") {
  const Estimate e = evaluate(scenario_of("Llama-3-8B", R"("tp": 2, "sharding": "layerwise")", "muon"));
  const TrafficRow reduce = row_of(e, "dense gradients", "reduce_scatter"),
                   gather = row_of(e, "dense parameters", "all_gather");
  CHECK(gather.network_bytes_per_step + gather.nvlink_bytes_per_step ==
        doctest::Approx((reduce.network_bytes_per_step + reduce.nvlink_bytes_per_step) / 2));  // bf16 and fp32
}

TEST_CASE("SHARP makes the all-reduce of gradients over racks quicker, and nothing else; what it leaves out is told") {
  Scenario s = scenario_of("Llama-3-8B", R"("tp": 2, "sharding": "none")");
  s.job.gpus = 256;
  const Estimate without = evaluate(s);
  s.job.stack.use_sharp = true;
  const Estimate with = evaluate(s);
  REQUIRE(with.traffic.size() == without.traffic.size());
  int quicker = 0;
  for (std::size_t i = 0; i < with.traffic.size(); ++i) {
    const bool dense = with.traffic[i].what == "dense gradients";
    CHECK((dense ? with.traffic[i].busy_s < without.traffic[i].busy_s : with.traffic[i].busy_s == without.traffic[i].busy_s));
    quicker += dense;
  }
  CHECK(quicker == 1);
  s.base.sharding = Sharding::optimizer;
  CHECK(evaluate(s).unmodelled.size() == 1 + [&] {
    Scenario plain = s;
    plain.job.stack.use_sharp = false;
    return evaluate(plain).unmodelled.size();
  }());
  s.job.hardware.fabric.sharp = false;
  bool told = false;
  for (const std::string& warning : evaluate(s).warnings) told |= warning.find("use_sharp") != std::string::npos;
  CHECK(told);
}
