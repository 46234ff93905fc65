// SPDX-License-Identifier: Apache-2.0
#include "shardfit/search/sensitivity.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "search/small_scenario.hpp"
#include "shardfit/search/sweep.hpp"

using namespace shardfit;
using namespace shardfit::test;

namespace {

struct Winner {
  Scenario scenario = small_scenario();
  Estimator estimator{scenario.job};
  Layout layout;
  Winner() {
    const SweepResult result = sweep(scenario, estimator, {});
    REQUIRE(!result.top.empty());
    layout = layout_at(scenario, result.top.front().index);
  }
};

}  // namespace

TEST_CASE("no single step from the best layout of a space gains") {
  const Winner best;
  const auto steps = axis_steps(best.scenario, best.estimator, best.layout);
  CHECK(!steps.empty());
  for (const AxisStep& step : steps) {
    CAPTURE(name_of(step.axis));
    if (step.runs()) CHECK(step.loss >= 0);
  }
}

TEST_CASE("a step's numbers are those of its layout, and its refusal is that of the rules") {
  const Winner best;
  Estimator::Workspace workspace;
  const double now = best.estimator.quick(best.layout, workspace).step_time_s;
  for (const AxisStep& step : axis_steps(best.scenario, best.estimator, best.layout)) {
    CAPTURE(name_of(step.axis));
    CHECK(step.refused.has_value() == first_violation(best.scenario.job, step.layout).has_value());
    if (step.refused) continue;
    const Quick quick = best.estimator.quick(step.layout, workspace);
    CHECK(quick.step_time_s == step.quick.step_time_s);
    CHECK(quick.peak == step.quick.peak);
    CHECK(step.loss == quick.step_time_s / now - 1);
  }
}

TEST_CASE("an axis with one value has no step; sizes step by one value") {
  Winner best;
  best.scenario.space.tp = {1, 2, 4};
  best.scenario.space.cp = {1};
  best.layout.tp = 2;
  const auto steps = axis_steps(best.scenario, best.estimator, best.layout);
  std::vector<int> tp;
  for (const AxisStep& step : steps) {
    CHECK(step.axis != LayoutAxis::cp);
    CHECK(step.axis != LayoutAxis::etp);
    if (step.axis == LayoutAxis::tp) tp.push_back(step.layout.tp);
  }
  CHECK(tp == std::vector<int>{1, 4});
}

TEST_CASE("a split steps back to the most even one, once, and says what it gains") {
  Winner best;
  SearchSpace& s = best.scenario.space;
  s.split = {{.kind = SplitKind::first_last, .first_stage_layers = 3, .last_stage_layers = 5},
             {},
             {.kind = SplitKind::first_last, .first_stage_layers = 5, .last_stage_layers = 3}};
  best.layout.tp = 1;
  best.layout.pp = 2;
  best.layout.vpp = 1;
  best.layout.split = s.split[0];
  REQUIRE(!first_violation(best.scenario.job, best.layout));
  int even = 0;
  for (const AxisStep& step : axis_steps(best.scenario, best.estimator, best.layout)) {
    if (!step.to_even_split) continue;
    ++even;
    CHECK(step.axis == LayoutAxis::split);
    CHECK(step.layout.split == PipelineSplit{});
  }
  CHECK(even == 1);
  best.layout.split = {};
  for (const AxisStep& step : axis_steps(best.scenario, best.estimator, best.layout)) CHECK(!step.to_even_split);
}
