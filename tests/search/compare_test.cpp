// SPDX-License-Identifier: Apache-2.0
#include "shardfit/search/compare.hpp"

#include <doctest/doctest.h>

#include "search/axis_values.hpp"
#include "search/small_scenario.hpp"

using namespace shardfit;

TEST_CASE("a family keeps its own axes and sharding") {
  Scenario s = test::small_scenario();
  s.space.sharding = {Sharding::optimizer, Sharding::full};
  s.space.tp = {1, 2};
  s.space.pp = {1, 2};
  const Scenario fsdp = restricted(s, Family::fsdp), three_d = restricted(s, Family::three_d);
  CHECK(fsdp.space.tp == std::vector<int>{1});
  CHECK(fsdp.space.pp == std::vector<int>{1});
  CHECK(fsdp.space.sharding == std::vector<Sharding>{Sharding::full});
  CHECK(three_d.space.tp == s.space.tp);
  CHECK(three_d.space.sharding == std::vector<Sharding>{Sharding::optimizer});
  // A search that names no sharding of a family gets that family's own.
  s.space.sharding = {Sharding::none};
  CHECK(restricted(s, Family::fsdp).space.sharding == std::vector<Sharding>{Sharding::full});
}

TEST_CASE("the best of a family is the best of its sweep; tuned knobs and steps are worth what they say") {
  Scenario s = test::small_scenario();
  s.space.sharding = {Sharding::optimizer, Sharding::full};
  const Estimator estimator(s.job);
  CompareOptions options;
  options.max_p_oom = 1;
  const Comparison c = compare(s, estimator, options);
  CHECK(c.complete);
  REQUIRE(c.start);
  REQUIRE(c.ceiling);
  Estimator::Workspace workspace;
  for (const Family family : {Family::fsdp, Family::three_d}) {
    CAPTURE(name_of(family));
    const FamilyResult& f = c.families[family];
    const SweepResult found = sweep(restricted(s, family), estimator, {});
    CHECK(f.valid == found.valid);
    CHECK(f.fit == found.fit);
    CHECK(f.best.has_value() == !found.top.empty());
    if (!f.best) continue;
    CHECK(f.best->step_time_s == found.top.front().quick.step_time_s);
    if (f.bring_up) CHECK(f.bring_up->step_time_s >= f.best->step_time_s);
    CHECK_FALSE(f.tuned.empty());
    for (const TunedKnob& knob : f.tuned)
      CHECK((knob.back.refused.has_value() || !knob.back.quick.fits || knob.back.loss > 0.01));
    double worst = 0;
    for (const AxisStep& step : f.steps)
      if (step.runs() && (step.axis == LayoutAxis::micro_batch_size || step.axis == LayoutAxis::recompute))
        worst = std::max(worst, step.loss);
    CHECK_FALSE(f.steps.empty());
    CHECK(worst_step(f) == worst);
    CHECK(f.changes.empty());  // no tower
  }
  const Family other = *c.ceiling == Family::fsdp ? Family::three_d : Family::fsdp;
  if (c.families[other].best) CHECK(c.families[other].best->step_time_s >= c.families[*c.ceiling].best->step_time_s);
}

TEST_CASE("a limit on the chance of running out of memory never makes the best faster") {
  Scenario s = test::small_scenario();
  const Estimator estimator(s.job);
  CompareOptions careless, careful;
  careless.max_p_oom = 1;
  careful.max_p_oom = 0.01;
  const Comparison a = compare(s, estimator, careless), b = compare(s, estimator, careful);
  for (const Family family : {Family::fsdp, Family::three_d})
    if (a.families[family].best && b.families[family].best)
      CHECK(a.families[family].best->step_time_s <= b.families[family].best->step_time_s);
}

TEST_CASE("advice is a pair of layouts that differ by what it names, judged by the same estimates") {
  Scenario s = test::small_scenario();
  const Estimator estimator(s.job);
  Layout layout = s.base;
  layout.ep = 4;
  layout.micro_batch_size = 2;
  REQUIRE_FALSE(first_violation(s.job, layout));
  const std::vector<AdvicePair> pairs = advice_around(s, estimator, layout);
  EnumArray<Advice, int> seen{};
  Estimator::Workspace workspace;
  for (const AdvicePair& pair : pairs) {
    CAPTURE(name_of(pair.advice));
    ++seen[pair.advice];
    CHECK(search::axes_changed(pair.from.layout, pair.to.layout) == 1);
    for (const Tried* side : {&pair.from, &pair.to})
      if (!side->refused) CHECK(side->quick.step_time_s == estimator.quick(side->layout, workspace).step_time_s);
  }
  CHECK(seen[Advice::larger_micro_batch] == 2);  // 1 to 2, 2 to 4
  CHECK(seen[Advice::selective_recompute] == 1);
  CHECK(seen[Advice::wide_graph_scope] == 1);
  CHECK(seen[Advice::hybridep] == 1);
  CHECK(seen[Advice::expert_tensor_parallel] == 1);
  // Recompute goes from full to something that is less of it, and faster.
  for (const AdvicePair& pair : pairs)
    if (pair.advice == Advice::selective_recompute) {
      CHECK(pair.from.layout.recompute.granularity == RecomputeGranularity::full);
      REQUIRE(pair.has_gain());
      CHECK(pair.gain() > 0);
    }
}
