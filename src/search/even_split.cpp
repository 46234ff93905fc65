// SPDX-License-Identifier: Apache-2.0
#include "search/even_split.hpp"

#include <algorithm>
#include <limits>

#include "shardfit/layout/rules.hpp"
#include "shardfit/layout/stage_plan.hpp"

namespace shardfit::search {

PipelineSplit most_even_split(const Scenario& scenario, Layout layout) {
  PipelineSplit best = layout.split;
  int least = std::numeric_limits<int>::max();
  StagePlan plan;
  for (const PipelineSplit& split : scenario.space.split) {
    layout.split = split;
    if (first_violation(scenario.job, layout) || !make_stage_plan(scenario.job, layout, plan)) continue;
    int low = std::numeric_limits<int>::max(), high = 0;
    for (int stage = 0; stage < layout.pp; ++stage) {
      low = std::min(low, plan.layers_on(stage));
      high = std::max(high, plan.layers_on(stage));
    }
    if (high - low >= least) continue;
    least = high - low;
    best = split;
  }
  return best;
}

}  // namespace shardfit::search
