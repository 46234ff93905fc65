// SPDX-License-Identifier: Apache-2.0
// The pruned sweep against brute force, on random small corners of the spaces that ship: same counts, same examples, same
// layouts, same bits. And both against the plain list of rules: a layout that they allow is kept, or is another kept one
// under a second name.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "io/load.hpp"
#include "layout/rules/rule.hpp"
#include "search/space.hpp"
#include "shardfit/layout/job_facts.hpp"
#include "search/checksum.hpp"
#include "shardfit/search/sweep.hpp"

using namespace shardfit;

namespace {

constexpr const char* kScenarios[] = {"qwen3-vl-235b-gb200.json", "qwen3-vl-235b-b200.json", "qwen3.5-35b-a3b-gb200.json",
                                      "qwen3-235b-gb200.json",    "deepseek-v3-gb200.json",  "llama-3-70b-gb200.json"};

using Random = std::mt19937_64;

/// At most `most` values of an axis, in their order.
template <class T>
void thin(std::vector<T>& axis, std::size_t most, Random& random) {
  while (axis.size() > most) axis.erase(axis.begin() + std::ptrdiff_t(random() % axis.size()));
}

/// A corner of a scenario's space with axes opened that the scenario leaves closed, up to some ten thousand combinations.
Scenario corner(const std::string& file, unsigned seed) {
  Scenario scenario = io::load_scenario(std::string(SHARDFIT_SOURCE_DIR) + "/scenarios/" + file);
  SearchSpace& s = scenario.space;
  Random random(seed);
  // Sizes that leave room for one another come first; large ones only now and then.
  for (std::vector<int>* sizes : {&s.tp, &s.cp, &s.pp, &s.ep, &s.etp})
    if (sizes->size() > 4 && random() % 3 != 0) sizes->resize(4);
  s.sharding = {Sharding::none, Sharding::optimizer, Sharding::optimizer_grads, Sharding::full};
  s.optimizer_instances = {1, 2};
  s.cp_comm_type = {CpCommType::p2p, CpCommType::a2a, CpCommType::all_gather};
  s.optimizer_offload = {0, 0.5};
  for (std::vector<int>* sizes : {&s.tp, &s.cp, &s.pp, &s.vpp, &s.ep, &s.micro_batch_size}) thin(*sizes, 2, random);
  thin(s.etp, 1 + random() % 2, random);
  thin(s.split, 3, random);
  thin(s.recompute, 4, random);
  thin(s.cuda_graph, 3, random);
  thin(s.dispatcher, 2, random);
  thin(s.sharding, 2, random);
  thin(s.optimizer_instances, 1 + random() % 2, random);
  thin(s.cp_comm_type, 1 + random() % 2, random);
  thin(s.optimizer_offload, 1, random);
  scenario.base.overlap.delay_wgrad = random() % 2 != 0;
  return scenario;
}

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
  MESSAGE("pruned by rules " << pruned.by_rules << ", state " << pruned.by_state << ", recompute " << pruned.by_recompute << ", graphs " << pruned.by_graphs << ", time "
                             << pruned.by_time);
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
      other.job.hardware = io::load_scenario(std::string(SHARDFIT_SOURCE_DIR) + "/scenarios/qwen3-vl-235b-b200.json").job.hardware;
      fp8.job.training.precision = Precision::mxfp8;
      const Estimator estimators[] = {Estimator(one.job), Estimator(more.job), Estimator(other.job), Estimator(fp8.job)};
      Goals goals;
      goals.pareto = {Metric::step_time, Metric::gpus, Metric::peak_memory};
      const Study study({{&one, &estimators[0]}, {&more, &estimators[1]}, {&other, &estimators[2]}, {&fp8, &estimators[3]}}, goals);
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

TEST_CASE("a rule's verdict does not change with an axis that it says it does not read") {
  for (const char* file : kScenarios)
    for (unsigned seed = 40; seed < 44; ++seed) {
      const Scenario scenario = corner(file, seed);
      const JobFacts facts = job_facts(scenario.job);
      const search::Digits radix = search::radices(scenario.space);
      Random random(seed);
      for (int round = 0; round < 100; ++round) {
        const Layout layout = layout_at(scenario, random() % space_size(scenario.space));
        const layout::Case before = layout::make_case(facts, layout);
        for (std::size_t a = 0; a < search::kAxes; ++a) {
          const LayoutAxis axis = LayoutAxis(a);
          Layout moved = layout;
          search::apply_digit(scenario, axis, std::uint32_t(random() % radix[axis]), moved);
          const layout::Case after = layout::make_case(facts, moved);
          for (const layout::RuleTable& table : layout::rule_tables())
            for (const layout::Rule& rule : table.rules) {
              if (rule.reads.empty() || rule.reads.contains(axis)) continue;
              if (rule.check(before).broken != rule.check(after).broken)
                FAIL_CHECK(rule.info.code << " reads " << name_of(axis) << ": " << layout_id(layout));
            }
        }
      }
    }
}

TEST_CASE("a table that does not concern a layout has no rule that it breaks") {
  for (const char* file : kScenarios) {
    const Scenario scenario = corner(file, 50);
    const JobFacts facts = job_facts(scenario.job);
    for (std::uint64_t index = 0; index < space_size(scenario.space); index += 7) {
      const Layout layout = layout_at(scenario, index);
      const layout::Case c = layout::make_case(facts, layout);
      for (const layout::RuleTable& table : layout::rule_tables())
        for (const layout::Rule& rule : table.rules)
          if (table.concerns != nullptr && !table.concerns(c) && facts.scopes.contains(rule.scope) && rule.check(c).broken)
            FAIL_CHECK(rule.info.code << " is broken by " << layout_id(layout));
    }
  }
}
