// SPDX-License-Identifier: Apache-2.0
// Laws that hold for every layout of every scenario that ships: what the sweep sees is what an estimate says, totals are
// sums of their rows, and the few monotone relations that users rely on.
#include <doctest/doctest.h>

#include "io/load.hpp"
#include "laws/valid_layouts.hpp"

using namespace shardfit;

namespace {

struct Case {
  explicit Case(const char* file)
      : scenario(io::load_scenario(std::string(SHARDFIT_SOURCE_DIR) + "/scenarios/" + file)), estimator(scenario.job) {}
  Scenario scenario;
  Estimator estimator;
  Estimator::Workspace workspace;
};

constexpr const char* kScenarios[] = {"qwen3-vl-235b-gb200.json", "qwen3-vl-235b-b200.json", "qwen3.5-35b-a3b-gb200.json",
                                      "qwen3-235b-gb200.json",    "deepseek-v3-gb200.json",  "llama-3-70b-gb200.json"};

Bytes peak_of(Case& c, const Layout& layout) { return c.estimator.quick(layout, c.workspace).peak; }

}  // namespace

TEST_CASE("the sweep's numbers are the estimate's, to the last bit") {
  for (const char* file : kScenarios) {
    Case c(file);
    const std::vector<Layout> layouts = test::valid_layouts(c.scenario, 25);
    for (const Layout& layout : layouts) {
      const Quick quick = c.estimator.quick(layout, c.workspace);
      const Estimate full = c.estimator.evaluate(layout);
      CAPTURE(full.layout_id);
      CHECK(quick.step_time_s == full.step_time_s);
      CHECK(quick.peak == full.verdict.need);
      CHECK(quick.fits == full.verdict.fits);
      const PeakRisk risk = c.estimator.peak_risk(layout, quick, c.workspace);
      CHECK(risk.p_oom == full.verdict.p_oom);
      CHECK(quick.tokens_per_s_per_gpu == doctest::Approx(full.tokens_per_s_per_gpu).epsilon(1e-12));
      CHECK(layout_id(parse_layout_id(full.layout_id)) == full.layout_id);
    }
  }
}

TEST_CASE("totals are sums of their rows") {
  for (const char* file : kScenarios) {
    Case c(file);
    for (const Layout& layout : test::valid_layouts(c.scenario, 10)) {
      const Estimate e = c.estimator.evaluate(layout);
      double seconds = 0;
      for (const Seconds& s : e.time.rows) {
        CHECK(s.value >= 0);
        seconds += s.value;
      }
      CHECK(seconds == doctest::Approx(e.step_time_s).epsilon(1e-12));
      for (const StageMemory& stage : e.memory) {
        Bytes inside, all;
        for (std::size_t t = 0; t < kCount<MemoryTerm>; ++t) {
          const Bytes row = stage.ledger[MemoryTerm(t)];
          CHECK(row.value >= 0);
          all += row;
          if (!is_outside_torch(MemoryTerm(t))) inside += row;
        }
        CHECK(inside == stage.ledger.allocated());
        CHECK(all == stage.ledger.total());
      }
    }
  }
}

TEST_CASE("more usable memory never makes a fitting layout infeasible") {
  Case c("llama-3-70b-gb200.json");
  Job roomy = c.scenario.job;
  roomy.hardware.gpu.memory_usable_gib.value *= 1.1;
  const Estimator larger(roomy);
  Estimator::Workspace workspace;
  for (const Layout& layout : test::valid_layouts(c.scenario, 60))
    if (c.estimator.quick(layout, c.workspace).fits) CHECK(larger.quick(layout, workspace).fits);
}

TEST_CASE("more graphs never need less memory") {
  for (const char* file : kScenarios) {
    Case c(file);
    for (Layout layout : test::valid_layouts(c.scenario, 25)) {
      CAPTURE(layout_id(layout));
      layout.cuda_graph = {};
      const Bytes eager = peak_of(c, layout);
      layout.cuda_graph.impl = CudaGraphImpl::local;
      CHECK(peak_of(c, layout) >= eager);
      layout.cuda_graph.impl = CudaGraphImpl::transformer_engine;
      Bytes before = eager;
      for (std::size_t scope = 0; scope < kCount<GraphScope>; ++scope) {
        layout.cuda_graph.scopes.insert(GraphScope(scope));
        const Bytes now = peak_of(c, layout);
        CHECK(now >= before);
        before = now;
      }
    }
  }
}

TEST_CASE("a bound has the memory of the layout and less than its time, and is completed to its numbers") {
  for (const char* file : kScenarios) {
    Case c(file);
    Estimator::Workspace other;
    for (const Layout& layout : test::valid_layouts(c.scenario, 25)) {
      CAPTURE(layout_id(layout));
      const Quick quick = c.estimator.quick(layout, c.workspace);
      CHECK_FALSE(c.estimator.quick_bound(quick.peak - Bytes(1), layout, other));
      std::optional<Quick> bound = c.estimator.quick_bound(quick.peak, layout, other);
      REQUIRE(bound);
      CHECK(bound->peak == quick.peak);
      CHECK(bound->step_time_s < quick.step_time_s);
      CHECK(bound->tokens_per_s_per_gpu > quick.tokens_per_s_per_gpu);
      c.estimator.complete(layout, other, *bound);
      CHECK(bound->step_time_s == quick.step_time_s);
      CHECK(bound->bottleneck == quick.bottleneck);
    }
  }
}

TEST_CASE("an axis of one costs nothing: no traffic in a group of one, no bubble without stages") {
  Case c("qwen3-235b-gb200.json");
  Layout layout;
  layout.ep = 64;
  layout.dispatcher = Dispatcher::hybridep;
  layout.recompute.granularity = RecomputeGranularity::full;
  REQUIRE(all_violations(c.scenario.job, layout).empty());
  const Estimate e = c.estimator.evaluate(layout);
  CHECK(e.time.rows[TimeTerm::pipeline_bubble].value == doctest::Approx(0).epsilon(1e-9));
  CHECK(e.time.rows[TimeTerm::pipeline_p2p].value == 0);
  CHECK(e.time.rows[TimeTerm::tensor_parallel].value == 0);
  CHECK(e.time.rows[TimeTerm::context_parallel].value == 0);
  for (const TrafficRow& row : e.traffic) {
    CHECK(row.group != "tp");
    CHECK(row.group != "cp");
    CHECK(row.group != "pp");
  }
}

TEST_CASE("Muon's matrix work is in the step, and shared out where the optimizer is split by layers") {
  Scenario s = io::load_scenario(std::string(SHARDFIT_SOURCE_DIR) + "/scenarios/llama-3-70b-gb200.json");
  const auto optimizer_s = [&s](OptimizerKind kind, Sharding sharding) {
    Scenario other = s;
    other.job.training.optimizer.kind = kind;
    Layout layout = test::valid_layouts(s, 1).at(0);
    layout.sharding = sharding;
    return Estimator(other.job).evaluate(layout).time.rows[TimeTerm::optimizer].value;
  };
  const double alone = optimizer_s(OptimizerKind::muon, Sharding::none);
  CHECK(alone > 2 * optimizer_s(OptimizerKind::sgd, Sharding::none));
  CHECK(optimizer_s(OptimizerKind::muon, Sharding::layerwise) < alone);
}

TEST_CASE("under full recompute the host pays for each checkpoint, so for half as many where two layers share one") {
  Case c("llama-3-70b-gb200.json");
  Layout layout = test::valid_layouts(c.scenario, 1)[0];
  layout.tp = 8;
  layout.cp = layout.pp = layout.vpp = 1;
  layout.sharding = Sharding::optimizer;
  const auto host = [&](Recompute recompute) {
    layout.recompute = std::move(recompute);
    const StageTime stage = c.estimator.evaluate(layout).stages[0];
    return std::pair{stage.host_forward_s, stage.host_backward_s};
  };
  const auto plain = host({}), each = host({RecomputeGranularity::full, {}, RecomputeMethod::uniform, 1}),
             pairs = host({RecomputeGranularity::full, {}, RecomputeMethod::uniform, 2});
  CHECK(each.first - plain.first == doctest::Approx(2 * (pairs.first - plain.first)));
  CHECK(each.first > plain.first);
  CHECK(each.second - pairs.second == doctest::Approx(12.0 / 5 * (each.first - pairs.first)));
}
