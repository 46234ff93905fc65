// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>

#include "io/load.hpp"
#include "shardfit/estimate/estimator.hpp"

using namespace shardfit;

namespace {

Scenario flagship() { return io::load_scenario(std::string(SHARDFIT_SOURCE_DIR) + "/scenarios/qwen3-vl-235b-gb200.json"); }

Layout layout_of(const Scenario& s, RecomputeGranularity granularity) {
  Layout l = s.base;
  l.tp = 2;
  l.sequence_parallel = true;
  l.pp = 2;
  l.ep = 8;
  l.recompute.granularity = granularity;
  if (granularity == RecomputeGranularity::selective) l.recompute.modules = {RecomputeModule::moe_act};
  return l;
}

}  // namespace

TEST_CASE("modules hold all parameters and all state of their stage, and its device time") {
  const Scenario s = flagship();
  for (const RecomputeGranularity granularity :
       {RecomputeGranularity::none, RecomputeGranularity::selective, RecomputeGranularity::full}) {
    const Estimate e = Estimator(s.job).evaluate(layout_of(s, granularity));
    for (int stage = 0; stage < e.layout.pp; ++stage) {
      CAPTURE(name_of(granularity));
      CAPTURE(stage);
      double forward = 0, backward = 0;
      Bytes state;
      for (const ModuleRow& row : e.modules) {
        if (row.stage != stage) continue;
        forward += row.forward_s;
        backward += row.backward_s + row.rerun_s;
        state += row.state;
      }
      // The stage adds what the host and the slowest rank cost; it never takes less than its modules.
      CHECK(forward <= e.stages[std::size_t(stage)].forward_s * 1.001);
      CHECK(backward <= e.stages[std::size_t(stage)].backward_s * 1.001);
      CHECK(forward > 0.6 * e.stages[std::size_t(stage)].forward_s);
      Bytes ledger;
      for (const StageMemory& m : e.memory)
        if (m.stage == stage && m.moment == MemoryMoment::between_steps)
          for (const MemoryTerm term : {MemoryTerm::weights, MemoryTerm::quantized_weights, MemoryTerm::gradients,
                                        MemoryTerm::master_weights, MemoryTerm::exp_avg, MemoryTerm::exp_avg_sq})
            ledger += m.ledger[term];
      CHECK(std::abs(in_gib(state) / in_gib(ledger) - 1) < 1e-3);  // padding of shared buffers apart
    }
  }
}

TEST_CASE("the tower is on the first stage alone; what full recompute keeps is a row") {
  const Scenario s = flagship();
  const Estimate full = Estimator(s.job).evaluate(layout_of(s, RecomputeGranularity::full));
  const Estimate none = Estimator(s.job).evaluate(layout_of(s, RecomputeGranularity::none));
  bool encoder = false, checkpoints = false;
  for (const ModuleRow& row : full.modules) {
    if (row.part != "decoder") CHECK(row.stage == 0);
    encoder = encoder || row.module == "vision_encoder";
    checkpoints = checkpoints || (row.module == "checkpoints" && row.part == "decoder" && row.saved.value > 0);
    if (row.module == "experts") CHECK(row.saved.value == 0);
  }
  CHECK(encoder);
  CHECK(checkpoints);
  for (const ModuleRow& row : none.modules) {
    CHECK(row.module != "checkpoints");
    CHECK(row.rerun_s == 0);
  }
}
