// SPDX-License-Identifier: Apache-2.0
// The cluster as a graph: built for N GPUs, with all routes, and what every group that a sweep may ask for sees of it.
#include <benchmark/benchmark.h>

#include "io/load.hpp"
#include "topology/cluster.hpp"

namespace {

using namespace shardfit;

void build(benchmark::State& state, const char* hardware) {
  const HardwareSpec h = io::load_hardware(hardware);
  for (auto _ : state) benchmark::DoNotOptimize(topology::Cluster(h, int(state.range(0))).route(0, int(state.range(0)) - 1));
}

void build_and_ask(benchmark::State& state, const char* hardware) {
  const HardwareSpec h = io::load_hardware(hardware);
  const int gpus = int(state.range(0));
  int groups = 0;
  for (auto _ : state) {
    const topology::Cluster cluster(h, gpus);
    groups = 0;
    for (int stride = 1; stride <= gpus / 2; stride *= 2)
      for (int size = 2; size * stride <= gpus; size *= 2, ++groups) benchmark::DoNotOptimize(cluster.links({size, stride}));
  }
  state.counters["group kinds"] = groups;
}

BENCHMARK_CAPTURE(build, nvl72, "gb200-nvl72")->Arg(64)->Arg(1024)->Arg(16384)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(build, hgx, "b200-hgx")->Arg(8)->Arg(1024)->Arg(16384)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(build_and_ask, nvl72, "gb200-nvl72")->Arg(64)->Arg(1024)->Arg(16384)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(build_and_ask, hgx, "b200-hgx")->Arg(8)->Arg(1024)->Arg(16384)->Unit(benchmark::kMillisecond);

}  // namespace
