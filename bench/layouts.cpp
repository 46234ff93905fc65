// SPDX-License-Identifier: Apache-2.0
// What one layout costs: its rules, its numbers with and without warm tables, everything about it.
#include <benchmark/benchmark.h>

#include "common.hpp"

namespace {

using namespace shardfit;
constexpr std::size_t kLayouts = 20'000;
constexpr const char* kScenarios[] = {"qwen3-vl-235b-gb200", "deepseek-v3-gb200", "llama-3-70b-gb200"};

/// Memory of every stage and moment, traffic, time and verdict of neighbours in the space, one thread.
void quick(benchmark::State& state) {
  const Scenario scenario = bench::scenario(kScenarios[state.range(0)]);
  const std::vector<Layout> layouts = bench::allowed_layouts(scenario, kLayouts);
  const Estimator estimator(scenario.job);
  Estimator::Workspace workspace;
  double sum = 0;
  for (auto _ : state)
    for (const Layout& layout : layouts) sum += estimator.quick(layout, workspace).step_time_s;
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(std::int64_t(state.iterations() * layouts.size()));
  state.SetLabel(kScenarios[state.range(0)]);
}
BENCHMARK(quick)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);

/// The same with the time of layouts that do not fit left out: what a sweep does with those that nothing else rules out.
void quick_if_it_fits(benchmark::State& state) {
  const Scenario scenario = bench::scenario(kScenarios[state.range(0)]);
  const std::vector<Layout> layouts = bench::allowed_layouts(scenario, kLayouts);
  const Estimator estimator(scenario.job);
  Estimator::Workspace workspace;
  std::size_t fit = 0;
  for (auto _ : state)
    for (const Layout& layout : layouts)
      if (std::optional<Quick> quick = estimator.quick_bound(estimator.usable_memory(), layout, workspace)) {
        estimator.complete(layout, workspace, *quick);
        ++fit;
      }
  benchmark::DoNotOptimize(fit);
  state.SetItemsProcessed(std::int64_t(state.iterations() * layouts.size()));
  state.SetLabel(kScenarios[state.range(0)]);
}
BENCHMARK(quick_if_it_fits)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);

/// Building the tables of a block's shapes, one micro-batch size after the other.
void tables(benchmark::State& state) {
  const Scenario scenario = bench::scenario(kScenarios[state.range(0)]);
  Layout layout = bench::allowed_layouts(scenario, 1).at(0);
  const Estimator estimator(scenario.job);
  Estimator::Workspace workspace;
  for (auto _ : state) {
    layout.micro_batch_size = 3 - layout.micro_batch_size % 3;
    benchmark::DoNotOptimize(estimator.quick(layout, workspace));
  }
  state.SetItemsProcessed(state.iterations());
  state.SetLabel(kScenarios[state.range(0)]);
}
BENCHMARK(tables)->DenseRange(0, 2)->Unit(benchmark::kMicrosecond);

/// The whole estimate with its ledgers: the baseline of `quick`.
void evaluate(benchmark::State& state) {
  const Scenario scenario = bench::scenario(kScenarios[state.range(0)]);
  const std::vector<Layout> layouts = bench::allowed_layouts(scenario, 20);
  const Estimator estimator(scenario.job);
  for (auto _ : state)
    for (const Layout& layout : layouts) benchmark::DoNotOptimize(estimator.evaluate(layout));
  state.SetItemsProcessed(std::int64_t(state.iterations() * layouts.size()));
  state.SetLabel(kScenarios[state.range(0)]);
}
BENCHMARK(evaluate)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);

/// The rules alone, on random combinations of which nearly all are refused.
void rules_of_a_layout(benchmark::State& state) {
  const Scenario scenario = bench::scenario(kScenarios[0]);
  const JobFacts facts = job_facts(scenario.job);
  std::vector<Layout> layouts;
  std::mt19937_64 random(2);
  for (std::size_t i = 0; i < kLayouts; ++i) layouts.push_back(layout_at(scenario, random() % space_size(scenario.space)));
  std::size_t refused = 0;
  for (auto _ : state)
    for (const Layout& layout : layouts) refused += first_violation(facts, layout).has_value();
  benchmark::DoNotOptimize(refused);
  state.SetItemsProcessed(std::int64_t(state.iterations() * layouts.size()));
}
BENCHMARK(rules_of_a_layout)->Unit(benchmark::kMillisecond);

}  // namespace
