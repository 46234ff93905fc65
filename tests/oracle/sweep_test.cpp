// SPDX-License-Identifier: Apache-2.0
// The pruned sweep against brute force, on random small corners of the spaces that ship: same counts, same examples, same
// layouts, same bits. And both against the plain list of rules: a layout that they allow is kept, or is another kept one
// under a second name.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "io/load.hpp"
#include "oracle/space_corner.hpp"
#include "search/checksum.hpp"
#include "shardfit/layout/job_facts.hpp"
#include "shardfit/search/sweep.hpp"

using namespace shardfit;
using oracle::corner;
using oracle::kScenarios;

namespace {

using Numbers = std::tuple<double, double, std::int64_t, bool, int, MemoryMoment, TimeTerm>;

Numbers numbers(const Quick& q) {
  return {q.step_time_s, q.tokens_per_s_per_gpu, q.peak.value, q.fits, q.peak_stage, q.peak_moment, q.bottleneck};
}

template <class C>
void check_same(const std::vector<C>& a, const std::vector<C>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].index == b[i].index);
    CHECK(numbers(a[i].quick) == numbers(b[i].quick));
  }
}

void check_same(const SweepResult& a, const SweepResult& b) {
  CHECK(a.space == b.space);
  CHECK(a.evaluated == b.evaluated);
  CHECK(a.valid == b.valid);
  CHECK(a.fit == b.fit);
  CHECK(a.complete == b.complete);
  check_same(a.top, b.top);
  check_same(a.pareto, b.pareto);
  check_same(a.all, b.all);
  CHECK(a.ties.count == b.ties.count);
  REQUIRE(a.with_more_memory.size() == b.with_more_memory.size());
  for (std::size_t i = 0; i < a.with_more_memory.size(); ++i) {
    const auto &x = a.with_more_memory[i].best, &y = b.with_more_memory[i].best;
    REQUIRE(x.has_value() == y.has_value());
    if (x) CHECK(x->index == y->index);
  }
  REQUIRE(a.rejected.size() == b.rejected.size());
  for (std::size_t i = 0; i < a.rejected.size(); ++i) {
    const Rejected &x = a.rejected[i], &y = b.rejected[i];
    CAPTURE(x.rule >= 0 ? rules()[std::size_t(x.rule)].code : "memory or alias");
    CHECK(x.rule == y.rule);
    CHECK(x.count == y.count);
    CHECK(x.example == y.example);
    CHECK(x.violation.rule == y.violation.rule);
    CHECK(x.violation.got == y.violation.got);
    CHECK(x.violation.need == y.violation.need);
  }
}

SweepResult run(const Scenario& scenario, const Estimator& estimator, bool prune, bool keep_all, int threads = 1) {
  SweepOptions options;
  options.threads = threads;
  options.top = 10;
  options.prune = prune;
  options.keep_all = keep_all;
  return sweep(scenario, estimator, options);
}

}  // namespace

TEST_CASE("pruned equals brute force") {
  std::uint64_t valid = 0, fit = 0;
  Pruned pruned;
  std::set<RuleId> met;
  for (const char* file : kScenarios)
    for (unsigned seed = 0; seed < 6; ++seed) {
      const Scenario scenario = corner(file, seed);
      CAPTURE(file);
      CAPTURE(seed);
      const Estimator estimator(scenario.job);
      const SweepResult brute = run(scenario, estimator, false, false);
      CHECK(brute.evaluated == brute.space);
      const SweepResult quickly = run(scenario, estimator, true, false);
      check_same(quickly, brute);
      check_same(run(scenario, estimator, true, false, 3), brute);
      pruned += quickly.pruned;
      valid += brute.valid;
      fit += brute.fit;
      for (const Rejected& r : brute.rejected) met.insert(r.rule);
    }
  // The corners have to be worth comparing.
  CHECK(valid > 1000);
  CHECK(fit > 100);
  CHECK(met.contains(kRefusedByMemory));
  CHECK(met.contains(kRefusedAsAlias));
  CHECK(met.size() > 20);
  // And every way of pruning has to have had its chance to be wrong.
  CHECK(pruned.by_rules > 1000);
  CHECK(pruned.by_state > 100);
  CHECK(pruned.by_recompute > 100);
  CHECK(pruned.by_graphs > 100);
  CHECK(pruned.by_time > 100);
  MESSAGE("pruned by rules " << pruned.by_rules << ", state " << pruned.by_state << ", recompute " << pruned.by_recompute
                             << ", graphs " << pruned.by_graphs << ", time " << pruned.by_time);
  MESSAGE(valid << " valid layouts, " << met.size() << " reasons");
}

TEST_CASE("pruned equals brute force for other goals, too") {
  Goals goals;
  goals.pareto = {Metric::step_time, Metric::peak_memory, Metric::host_memory, Metric::changes};
  goals.objective = Metric::peak_memory;
  goals.limits.memory_headroom = 0.2;
  for (const char* file : kScenarios) {
    const Scenario scenario = corner(file, 13);
    CAPTURE(file);
    const Estimator estimator(scenario.job);
    goals.base = layout_at(scenario, 0);
    const Study study({{&scenario, &estimator}}, goals);
    SweepOptions options;
    options.threads = 2;
    const SweepResult pruned = sweep(study, options);
    options.prune = false;
    check_same(pruned, sweep(study, options));
  }
}

TEST_CASE("pruned equals brute force over several jobs: GPU counts, hardware, precision") {
  std::uint64_t fit = 0;
  for (const char* file : {"qwen3-235b-gb200.json", "llama-3-70b-gb200.json"})
    for (unsigned seed = 60; seed < 63; ++seed) {
      CAPTURE(file);
      CAPTURE(seed);
      Scenario one = corner(file, seed), more = one, other = one, fp8 = one;
      more.job.gpus *= 2;
      other.job.hardware =
          io::load_scenario(std::string(SHARDFIT_SOURCE_DIR) + "/scenarios/qwen3-vl-235b-b200.json").job.hardware;
      fp8.job.training.precision = Precision::mxfp8;
      const Estimator estimators[] = {Estimator(one.job), Estimator(more.job), Estimator(other.job), Estimator(fp8.job)};
      Goals goals;
      goals.pareto = {Metric::step_time, Metric::gpus, Metric::peak_memory};
      const Study study({{&one, &estimators[0]}, {&more, &estimators[1]}, {&other, &estimators[2]}, {&fp8, &estimators[3]}},
                        goals);
      SweepOptions options;
      options.threads = 2;
      options.top = 30;
      const SweepResult pruned = sweep(study, options);
      options.prune = false;
      const SweepResult brute = sweep(study, options);
      check_same(pruned, brute);
      CHECK(brute.space == 4 * space_size(one.space));
      fit += brute.fit;
    }
  CHECK(fit > 100);
}

TEST_CASE("with all layouts kept, pruned equals brute force as well") {
  for (const char* file : kScenarios) {
    const Scenario scenario = corner(file, 11);
    const Estimator estimator(scenario.job);
    check_same(run(scenario, estimator, true, true), run(scenario, estimator, false, true));
  }
}

TEST_CASE("the checksum over all layouts of a sweep is that of their full estimates") {
  for (const char* file : kScenarios)
    for (unsigned seed = 30; seed < 33; ++seed) {
      const Scenario scenario = corner(file, seed);
      CAPTURE(file);
      CAPTURE(seed);
      const Estimator estimator(scenario.job);
      Checksum swept, estimated;
      for (const Candidate& c : run(scenario, estimator, true, true, 2).all) {
        swept.add(c.index, c.quick);
        estimated.add(c.index, quick_of(estimator.evaluate(layout_at(scenario, c.index))));
      }
      CHECK(swept == estimated);
    }
}

TEST_CASE("what the rules allow is kept, or has a kept twin with the same numbers") {
  std::uint64_t twins = 0;
  for (const char* file : kScenarios)
    for (unsigned seed = 20; seed < 23; ++seed) {
      const Scenario scenario = corner(file, seed);
      CAPTURE(file);
      CAPTURE(seed);
      const Estimator estimator(scenario.job);
      const JobFacts facts = job_facts(estimator.job());
      const SweepResult result = run(scenario, estimator, true, true);
      std::map<std::uint64_t, Numbers> kept;
      std::set<Numbers> seen;
      for (const Candidate& c : result.all) {
        kept.emplace(c.index, numbers(c.quick));
        seen.insert(numbers(c.quick));
      }
      Estimator::Workspace workspace;
      for (std::uint64_t index = 0; index < result.space; ++index) {
        const Layout layout = layout_at(scenario, index);
        const bool allowed = !first_violation(facts, layout);
        const bool is_kept = kept.contains(index);
        if (is_kept && !allowed) FAIL_CHECK("kept against a rule: " << layout_id(layout));
        if (!allowed || is_kept) continue;
        ++twins;
        if (!seen.contains(numbers(estimator.quick(layout, workspace))))
          FAIL_CHECK("folded without a twin: " << layout_id(layout));
      }
      CHECK(kept.size() == result.valid);
    }
  CHECK(twins > 100);
}
