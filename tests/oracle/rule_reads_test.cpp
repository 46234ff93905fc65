// SPDX-License-Identifier: Apache-2.0
// Rules read the axes and concern the layouts that they say: what the sweep's pruning rests on.
#include <doctest/doctest.h>

#include "layout/rules/rule.hpp"
#include "oracle/space_corner.hpp"
#include "search/space.hpp"
#include "shardfit/layout/job_facts.hpp"
#include "shardfit/search/sweep.hpp"

using namespace shardfit;
using oracle::corner;
using oracle::kScenarios;
using oracle::Random;

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
