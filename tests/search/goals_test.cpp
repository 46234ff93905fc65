// SPDX-License-Identifier: Apache-2.0
// Objectives, limits, fronts and near-ties of a sweep, against the plain list of all layouts.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "search/axis_values.hpp"
#include "search/small_scenario.hpp"
#include "shardfit/base/error.hpp"
#include "shardfit/search/measure.hpp"
#include "shardfit/search/partial.hpp"

using namespace shardfit;
using namespace shardfit::test;

namespace {

struct World {
  Scenario scenario = small_scenario();
  Scenario more = small_scenario();
  std::vector<Estimator> estimators;
  World() {
    scenario.job.training.packing_efficiency = 0.8;
    scenario.job.hardware.gpu.power_w = {700, FigureKind::datasheet, "test"};
    scenario.space.optimizer_offload = {0, 0.5};
    more = scenario;
    more.job.gpus = 32;
    estimators.emplace_back(scenario.job);
    estimators.emplace_back(more.job);
  }
  Study one(Goals goals = {}) const { return Study({{&scenario, &estimators[0]}}, std::move(goals)); }
  Study both(Goals goals = {}) const { return Study({{&scenario, &estimators[0]}, {&more, &estimators[1]}}, std::move(goals)); }
};

SweepResult all_of(const Study& study) {
  SweepOptions options;
  options.keep_all = true;
  options.top = 5;
  return sweep(study, options);
}

/// A peak that some layouts stay below and some do not.
Bytes middle_peak(const SweepResult& result) {
  std::vector<Bytes> peaks;
  for (const Candidate& c : result.all) peaks.push_back(c.quick.peak);
  std::sort(peaks.begin(), peaks.end());
  return peaks[peaks.size() / 2];
}

}  // namespace

TEST_CASE("each metric follows from the step time, the job and what the goals state") {
  const World world;
  Goals goals;
  goals.train_tokens = 1e12;
  goals.usd_per_gpu_hour = {{"", 3}};
  const Study study = world.one(goals);
  const Job& job = world.scenario.job;
  const SweepResult result = all_of(study);
  REQUIRE(!result.top.empty());
  const Candidate& best = result.top.front();
  const Layout layout = study.layout_of(best.index);
  const Measure measure(job, world.estimators[0], study.goals(), {});
  Estimator::Workspace workspace;
  const auto value = [&](Metric m) { return measure.value(m, layout, best.quick, workspace); };
  const double tokens = double(job.training.global_batch_size) * job.training.sequence_length * 0.8;
  const double seconds = 1e12 / tokens * best.quick.step_time_s;
  CHECK(value(Metric::useful_tokens_per_s) == doctest::Approx(tokens / best.quick.step_time_s));
  CHECK(value(Metric::train_time) == doctest::Approx(seconds));
  CHECK(value(Metric::cost) == doctest::Approx(seconds / 3600 * job.gpus * 3));
  CHECK(value(Metric::energy) == doctest::Approx(seconds / 3600 * job.gpus * 0.7));
  CHECK(value(Metric::gpus) == job.gpus);
  CHECK(value(Metric::changes) < 0);  // no base
}

TEST_CASE("host memory is the estimate's, with and without offload") {
  const World world;
  Estimator::Workspace workspace;
  const Study study = world.one();
  bool some = false;
  for (const Candidate& c : all_of(study).all) {
    const Layout layout = study.layout_of(c.index);
    const Bytes host = world.estimators[0].host_memory(layout, workspace);
    CHECK(host == world.estimators[0].evaluate(layout).host_memory);
    some |= host > Bytes(0);
  }
  CHECK(some);
}

TEST_CASE("an objective without a figure is refused, not invented") {
  const World world;
  Goals goals;
  goals.objective = Metric::cost;
  CHECK_THROWS_AS(all_of(world.one(goals)), InputError);
  goals.objective = Metric::changes;
  CHECK_THROWS_AS(all_of(world.one(goals)), InputError);
  goals.objective = Metric::step_time;
  goals.pareto = {Metric::step_time, Metric::cost};
  CHECK_THROWS_AS(all_of(world.one(goals)), InputError);
  goals.usd_per_gpu_hour = {{"another-cluster", 3}};
  CHECK_THROWS_AS(all_of(world.one(goals)), InputError);
  goals.usd_per_gpu_hour[world.scenario.job.hardware.name] = 3;
  CHECK_NOTHROW(all_of(world.one(goals)));
}

TEST_CASE("one sweep over two GPU counts finds what two sweeps find, by any objective") {
  const World world;
  Goals goals;
  goals.usd_per_gpu_hour = {{"", 3}};
  for (Metric m :
       {Metric::tokens_per_s_per_gpu, Metric::step_time, Metric::cost, Metric::useful_tokens_per_s, Metric::peak_memory}) {
    CAPTURE(name_of(m));
    goals.objective = m;
    const Study study = world.both(goals);
    const SweepResult result = all_of(study);
    CHECK(result.valid == all_of(world.one(goals)).valid + all_of(Study({{&world.more, &world.estimators[1]}}, goals)).valid);
    double best = std::numeric_limits<double>::infinity();
    Estimator::Workspace workspaces[2];
    for (const Candidate& c : result.all) {
      if (!c.quick.fits) continue;
      const std::size_t job = study.job_of(c.index);
      const Measure measure(study.jobs()[job].scenario->job, world.estimators[job], study.goals(), {});
      best = std::min(best, measure.score(m, study.layout_of(c.index), c.quick, workspaces[job]));
    }
    const Candidate& top = result.top.front();
    const std::size_t job = study.job_of(top.index);
    const Measure measure(study.jobs()[job].scenario->job, world.estimators[job], study.goals(), {});
    CHECK(measure.score(m, study.layout_of(top.index), top.quick, workspaces[job]) == best);
  }
}

TEST_CASE("limits leave out what breaks them, and nothing else") {
  const World world;
  const SweepResult free = all_of(world.one());
  Goals goals;
  goals.limits.memory_headroom = 1 - middle_peak(free) / world.estimators[0].usable_memory();
  const SweepResult held = all_of(world.one(goals));
  const double most = (1 - goals.limits.memory_headroom) * double(world.estimators[0].usable_memory().value);
  std::uint64_t within = 0;
  for (const Candidate& c : free.all) within += double(c.quick.peak.value) <= most;
  CHECK(held.fit == within);
  CHECK(held.fit < free.fit);
  CHECK(held.fit > 0);
  CHECK(held.valid == free.valid);
  REQUIRE_FALSE(held.pareto.empty());
  for (const Judged& j : held.pareto) CHECK(double(j.quick.peak.value) <= most);

  Limits limits;
  limits.tp = 2;
  const Scenario small = limited(world.scenario, limits);
  CHECK(small.space.tp == std::vector<int>{1, 2});
  CHECK(small.space.pp == world.scenario.space.pp);
}

TEST_CASE("more memory: the better layouts are those of a sweep with that much more") {
  World world;
  // As much as the fastest layout needs but for 3 %.
  const double peak = in_gib(all_of(world.one()).top.front().quick.peak);
  world.scenario.job.hardware.gpu.memory_usable_gib.value = peak / 1.03;
  world.estimators.clear();
  world.estimators.emplace_back(world.scenario.job);
  const SweepResult result = all_of(world.one());
  REQUIRE(result.with_more_memory.size() == 3);
  CHECK(result.with_more_memory[1].best.has_value());
  CHECK(result.with_more_memory[2].gain >= result.with_more_memory[1].gain);
  for (const WithMoreMemory& w : result.with_more_memory) {
    CAPTURE(w.more);
    Scenario larger = world.scenario;
    larger.job.hardware.gpu.memory_usable_gib.value *= 1 + w.more;
    const Estimator estimator(larger.job);
    const SweepResult then = all_of(Study({{&larger, &estimator}}, {}));
    if (w.best)
      CHECK(w.best->index == then.top.front().index);
    else
      CHECK(then.top.front().index == result.top.front().index);
  }
}

TEST_CASE("near-ties are the layouts within the band, and their values are counted") {
  const World world;
  const SweepResult result = all_of(world.one());
  const NearTies& ties = result.ties;
  CHECK(ties.band > 0);
  CHECK_FALSE(ties.at_least);
  std::uint64_t within = 0;
  const double best = result.top.front().quick.tokens_per_s_per_gpu;
  for (const Candidate& c : result.all) within += c.quick.fits && c.quick.tokens_per_s_per_gpu * (1 + ties.band) >= best;
  CHECK(ties.count == within);
  CHECK(ties.count > 1);
  REQUIRE_FALSE(ties.axes.empty());
  // By step time the same band holds the same layouts.
  Goals goals;
  goals.objective = Metric::step_time;
  CHECK(all_of(world.one(goals)).ties.count == ties.count);
  for (const NearTies::Axis& axis : ties.axes) {
    std::uint64_t sum = 0;
    for (const NearTies::Value& value : axis.values) sum += value.count;
    CHECK(sum == ties.count);
  }
}

TEST_CASE("changes count the axes that differ from the base") {
  const World world;
  Goals goals;
  goals.base = layout_at(world.scenario, 0);
  goals.objective = Metric::changes;
  goals.pareto = {Metric::step_time, Metric::changes};
  const Study study = world.one(goals);
  CHECK(search::axes_changed(*goals.base, *goals.base) == 0);
  const SweepResult result = all_of(study);
  REQUIRE(result.pareto.size() > 2);
  int last = 100;
  for (const Judged& j : result.pareto) {  // slower layouts need fewer changes
    const int changes = search::axes_changed(*goals.base, study.layout_of(j.index));
    CHECK(changes < last);
    last = changes;
  }
}

TEST_CASE("the rules alone count the allowed layouts") {
  const World world;
  const Study study = world.both();
  CHECK(count_valid(study, {}) == all_of(study).valid);
}
