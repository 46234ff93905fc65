// SPDX-License-Identifier: Apache-2.0
#include "validation/log_reading.hpp"

#include <doctest/doctest.h>

using namespace shardfit;
using namespace shardfit::validation;

namespace {

/// Two stages, of which the first holds the more: 30 and 20 bytes while it runs, 12 and 10 between steps.
Estimate two_stages() {
  Estimate e;
  e.layout.pp = 2;
  const auto add = [&](int stage, MemoryMoment moment, int bytes) {
    StageMemory m;
    m.stage = stage;
    m.moment = moment;
    m.ledger.add(MemoryTerm::weights, Bytes(bytes));
    e.memory.push_back(m);
  };
  for (const int stage : {0, 1}) {
    add(stage, MemoryMoment::backward, stage == 0 ? 30 : 20);
    add(stage, MemoryMoment::between_steps, stage == 0 ? 12 : 10);
  }
  return e;
}

MeasuredRun run_of(EntryPoint entry_point, const char* kind) {
  MeasuredRun run;
  run.scenario.job.stack.entry_point = entry_point;
  run.peak_kind = kind;
  return run;
}

}  // namespace

TEST_CASE("Megatron-Bridge's metrics are the last rank's, unless a line names its rank; other tools report the most") {
  const Estimate e = two_stages();
  CHECK(logged_peak(run_of(EntryPoint::megatron_bridge, ""), e) == Bytes(20));
  CHECK(logged_peak(run_of(EntryPoint::megatron_bridge, "rank-0 allocated"), e) == Bytes(30));
  CHECK(logged_peak(run_of(EntryPoint::megatron_bridge, "peak allocated, rank 0"), e) == Bytes(30));
  CHECK(logged_peak(run_of(EntryPoint::megatron_bridge, "max over ranks allocated"), e) == Bytes(30));
  CHECK(logged_peak(run_of(EntryPoint::torch_tools, ""), e) == Bytes(30));
  CHECK(reported_peak(run_of(EntryPoint::megatron_bridge, "peak allocated (1e9-byte GB)"), e) == Bytes(20));
}

TEST_CASE("a figure of allocated bytes that is no peak is of between steps, of the same rank") {
  const Estimate e = two_stages();
  CHECK(reported_peak(run_of(EntryPoint::megatron_bridge, "allocated (1e9 GB converted)"), e) == Bytes(10));
  CHECK(reported_peak(run_of(EntryPoint::torch_tools, "allocated (1e9 GB converted)"), e) == Bytes(12));
}
