// SPDX-License-Identifier: Apache-2.0
#include "shardfit/search/partial.hpp"
#include "shardfit/search/sweep.hpp"

#include <doctest/doctest.h>

#include <atomic>

#include "search/small_scenario.hpp"
#include "shardfit/base/error.hpp"

using namespace shardfit;
using namespace shardfit::test;

namespace {

SweepResult run(const Scenario& scenario, SweepOptions options = {}) {
  const Estimator estimator(scenario.job);
  return sweep(scenario, estimator, options);
}

std::uint64_t refused(const SweepResult& result) {
  std::uint64_t n = 0;
  for (const Rejected& r : result.rejected) n += r.count;
  return n;
}

}  // namespace

TEST_CASE("every combination is counted once: it fits, or has one reason") {
  const Scenario scenario = small_scenario();
  const SweepResult result = run(scenario);
  CHECK(result.complete);
  CHECK(result.space == space_size(scenario.space));
  CHECK(result.evaluated == result.space);
  CHECK(result.fit > 0);
  CHECK(refused(result) + result.fit == result.space);
}

TEST_CASE("the number of threads changes nothing") {
  const Scenario scenario = small_scenario();
  SweepOptions options;
  options.keep_all = true;
  options.threads = 1;
  const SweepResult one = run(scenario, options);
  for (int threads : {2, 3}) {
    options.threads = threads;
    const SweepResult many = run(scenario, options);
    CHECK(many.valid == one.valid);
    CHECK(many.fit == one.fit);
    REQUIRE(many.top.size() == one.top.size());
    for (std::size_t i = 0; i < one.top.size(); ++i) CHECK(many.top[i].index == one.top[i].index);
    REQUIRE(many.pareto.size() == one.pareto.size());
    for (std::size_t i = 0; i < one.pareto.size(); ++i) CHECK(many.pareto[i].index == one.pareto[i].index);
    REQUIRE(many.all.size() == one.all.size());
    for (std::size_t i = 0; i < one.all.size(); ++i) {
      CHECK(many.all[i].index == one.all[i].index);
      CHECK(many.all[i].quick.step_time_s == one.all[i].quick.step_time_s);
      CHECK(many.all[i].quick.peak == one.all[i].quick.peak);
    }
    REQUIRE(many.rejected.size() == one.rejected.size());
    for (std::size_t i = 0; i < one.rejected.size(); ++i) {
      CHECK(many.rejected[i].rule == one.rejected[i].rule);
      CHECK(many.rejected[i].count == one.rejected[i].count);
      CHECK(many.rejected[i].example == one.rejected[i].example);
    }
  }
}

TEST_CASE("an interrupted sweep says so and keeps what it knows") {
  const Scenario scenario = small_scenario();
  SweepOptions options;
  options.threads = 1;
  int asked = 0;
  options.interrupted = [&asked] { return ++asked > 2; };
  const SweepResult result = run(scenario, options);
  CHECK_FALSE(result.complete);
  CHECK(result.evaluated > 0);
  CHECK(result.evaluated < result.space);
  CHECK(refused(result) + result.fit == result.evaluated);

  options.interrupted = [] { return true; };
  const SweepResult nothing = run(scenario, options);
  CHECK_FALSE(nothing.complete);
  CHECK(nothing.evaluated == 0);
  CHECK(nothing.top.empty());
}

TEST_CASE("progress ends at the whole space") {
  const Scenario scenario = small_scenario();
  SweepOptions options;
  SweepProgress last;
  options.progress = [&last](const SweepProgress& now) { last = now; };
  const SweepResult result = run(scenario, options);
  CHECK(last.done == result.space);
  CHECK(last.total == result.space);
  CHECK(last.valid == result.valid);
  CHECK(last.fit == result.fit);
  CHECK(last.best_tokens_per_s_per_gpu == result.top.front().quick.tokens_per_s_per_gpu);
}

TEST_CASE("a space without layouts, and one where none fits, have empty results") {
  Scenario scenario = small_scenario();
  scenario.space.tp.clear();
  SweepResult result = run(scenario);
  CHECK(result.space == 0);
  CHECK(result.complete);
  CHECK(result.rejected.empty());

  scenario = small_scenario();
  scenario.space.tp = {3};  // divides no ranks
  result = run(scenario);
  CHECK(result.evaluated == result.space);
  CHECK(result.valid == 0);
  CHECK(result.top.empty());
  CHECK(result.pareto.empty());

  scenario = small_scenario();
  scenario.job.hardware.gpu.memory_usable_gib.value = 0;
  result = run(scenario);
  CHECK(result.valid > 0);
  CHECK(result.fit == 0);
  CHECK(result.top.empty());
}

TEST_CASE("where nothing fits, the nearest is the one that is least over, for any number of threads") {
  Scenario scenario = small_scenario(), larger = small_scenario();
  scenario.job.hardware.gpu.memory_usable_gib.value = 0.001;
  larger.job.hardware.gpu.memory_usable_gib.value = 0.00125;
  const Estimator first(scenario.job), second(larger.job);
  const Study study({{&scenario, &first}, {&larger, &second}}, {});
  SweepOptions options;
  options.keep_all = true;
  const SweepResult all = sweep(study, options);
  REQUIRE(all.fit == 0);
  REQUIRE(all.all.size() > 100);
  const auto share = [&](const Candidate& c) { return c.quick.peak / study.estimator_of(c.index).usable_memory(); };
  const auto least = std::min_element(all.all.begin(), all.all.end(),
                                      [&](const Candidate& a, const Candidate& b) { return share(a) < share(b); });
  for (const int threads : {1, 3}) {
    options.threads = threads;
    const std::optional<Candidate> nearest = nearest_to_fitting(study, options);
    REQUIRE(nearest);
    CHECK(nearest->index == least->index);
    CHECK(nearest->quick.peak == least->quick.peak);
    CHECK(nearest->quick.step_time_s == least->quick.step_time_s);
  }
}

TEST_CASE("sizes below 1 are an error of the input") {
  Scenario scenario = small_scenario();
  scenario.space.vpp = {1, 0};
  CHECK_THROWS_AS(run(scenario), InputError);
}

TEST_CASE("an axis that changes nothing is folded onto its first value") {
  Scenario scenario = small_scenario();
  scenario.space = {};
  scenario.space.cp_comm_type = {CpCommType::p2p, CpCommType::all_gather};  // cp is 1
  PipelineSplit both;
  both.kind = SplitKind::accounting;
  both.account_for_embedding = both.account_for_loss = true;
  scenario.space.split = {PipelineSplit{}, both};  // pp is 1
  const SweepResult result = run(scenario);
  CHECK(result.space == 4);
  CHECK(result.valid == 1);
  REQUIRE(result.rejected.size() == 1);
  CHECK(result.rejected[0].rule == kRefusedAsAlias);
  CHECK(result.rejected[0].count == 3);
  CHECK(result.rejected[0].example == 1);
}
