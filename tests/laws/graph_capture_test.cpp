// SPDX-License-Identifier: Apache-2.0
// A whole-iteration graph reuses during its capture what other streams have freed where the allocator is told to. Recipes tell
// it so in the variable that sets expandable segments.
#include <doctest/doctest.h>

#include "io/load.hpp"

using namespace shardfit;

namespace {

Bytes peak(bool expandable_segments, bool captured) {
  Scenario s = io::load_scenario(std::string(SHARDFIT_SOURCE_DIR) + "/scenarios/llama-3-70b-gb200.json");
  s.job.stack.expandable_segments = expandable_segments;
  Layout layout = s.base;
  layout.tp = 2;
  layout.pp = 4;
  if (captured) layout.cuda_graph = {CudaGraphImpl::full_iteration, {}};
  const Estimator estimator(s.job);
  Estimator::Workspace workspace;
  return estimator.quick(layout, workspace).peak;
}

}  // namespace

TEST_CASE("capture without expandable segments needs more than their fragmentation alone") {
  CHECK(peak(true, true) > peak(true, false));
  CHECK(peak(false, false) > peak(true, false));
  CHECK(peak(false, true) - peak(false, false) > peak(true, true) - peak(true, false));
}
