// SPDX-License-Identifier: Apache-2.0
// Whole sweeps; items are combinations decided. Brute force, on a corner that it can manage, is the baseline.
#include <benchmark/benchmark.h>

#include "common.hpp"
#include "search/checksum.hpp"
#include "shardfit/search/partial.hpp"

namespace {

using namespace shardfit;

void run(benchmark::State& state, const Scenario& scenario, bool prune, bool keep_all) {
  const Estimator estimator(scenario.job);
  SweepOptions options;
  options.threads = int(state.range(0));
  options.prune = prune;
  options.keep_all = keep_all;
  SweepResult result;
  Checksum sum;
  for (auto _ : state) {
    result = sweep(scenario, estimator, options);
    for (const Candidate& c : result.all) sum.add(c.index, c.quick);
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(std::int64_t(state.iterations() * result.space));
  state.counters["space"] = double(result.space);
  state.counters["valid"] = double(result.valid);
  state.counters["valid/s"] = benchmark::Counter(double(result.valid) * double(state.iterations()),
                                                 benchmark::Counter::kIsRate);
}

void corner_brute_force(benchmark::State& state) { run(state, bench::flagship_corner(), false, false); }
BENCHMARK(corner_brute_force)->Arg(1)->UseRealTime()->Unit(benchmark::kMillisecond);

void corner_pruned(benchmark::State& state) { run(state, bench::flagship_corner(), true, false); }
BENCHMARK(corner_pruned)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

/// Nothing but what the rules refuse left out.
void corner_pruned_all_kept(benchmark::State& state) { run(state, bench::flagship_corner(), true, true); }
BENCHMARK(corner_pruned_all_kept)->Arg(1)->UseRealTime()->Unit(benchmark::kMillisecond);

/// Every number of every layout, and a checksum over them: nothing is left out but what the rules refuse.
/// Second argument: number of the model.
constexpr const char* kScenarios[] = {"qwen3-vl-235b-gb200", "deepseek-v3-gb200", "llama-3-70b-gb200"};
void complete(benchmark::State& state) {
  const char* name = kScenarios[state.range(1)];
  run(state, bench::part_of(name), true, true);
  state.SetLabel(name);
}
BENCHMARK(complete)->ArgsProduct({{1, 2}, {0, 1, 2}})->UseRealTime()->Unit(benchmark::kMillisecond);

/// The walk alone: what the rules allow is counted, not looked at.
void counted(benchmark::State& state) {
  const Scenario scenario = bench::part_of(kScenarios[state.range(1)]);
  const Estimator estimator(scenario.job);
  const Study study({{&scenario, &estimator}}, {});
  SweepOptions options;
  options.threads = int(state.range(0));
  std::uint64_t valid = 0;
  for (auto _ : state) valid = count_valid(study, options).value_or(0);
  state.SetItemsProcessed(std::int64_t(state.iterations() * valid));
  state.SetLabel(kScenarios[state.range(1)]);
}
BENCHMARK(counted)->ArgsProduct({{1}, {0, 1, 2}})->UseRealTime()->Unit(benchmark::kMillisecond);

void part_pruned(benchmark::State& state) { run(state, bench::flagship_part(), true, false); }
BENCHMARK(part_pruned)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

void flagship(benchmark::State& state) { run(state, bench::scenario("qwen3-vl-235b-gb200"), true, false); }
BENCHMARK(flagship)->Arg(1)->Arg(2)->UseRealTime()->Iterations(1)->Unit(benchmark::kSecond);

void flagship_wide(benchmark::State& state) { run(state, bench::flagship_wide(), true, false); }
BENCHMARK(flagship_wide)->Arg(2)->UseRealTime()->Iterations(1)->Unit(benchmark::kSecond);

/// Second argument: GPUs.
void flagship_by_gpus(benchmark::State& state) { run(state, bench::flagship_on(int(state.range(1))), true, false); }
BENCHMARK(flagship_by_gpus)
    ->ArgsProduct({{2}, {64, 256, 1024, 4096, 16384}})
    ->UseRealTime()
    ->Iterations(1)
    ->Unit(benchmark::kSecond);

/// Second argument: open axes.
void flagship_by_axes(benchmark::State& state) { run(state, bench::flagship_open(int(state.range(1))), true, false); }
BENCHMARK(flagship_by_axes)->ArgsProduct({{2}, {4, 6, 8, 10, 13}})->UseRealTime()->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
