// SPDX-License-Identifier: Apache-2.0
// The per-layout path of a sweep must not allocate: every operator new of this program is counted.
#include <doctest/doctest.h>

#include "allocation_counter.hpp"
#include "layout/jobs.hpp"
#include "shardfit/layout/rank_grid.hpp"
#include "shardfit/layout/rules.hpp"
#include "shardfit/layout/stage_plan.hpp"

using namespace shardfit;
using namespace shardfit::test;

TEST_CASE("checking and planning a layout allocates nothing once the plan has grown") {
  const Job jobs[] = {with_mtp(dense_job(), 1), vision_job(), hybrid_job(), mla_job()};
  for (const Job& job : jobs) {
    const JobFacts facts = job_facts(job);
    StagePlan plan;
    plan.chunks.reserve(16);
    Layout layouts[5];
    layouts[1].pp = layouts[1].vpp = 2;
    layouts[2].split.kind = SplitKind::layout_string;
    layouts[2].split.text = "Et*2|(t|t)*2|ttmL";
    layouts[2].pp = 4;
    layouts[3].split.kind = SplitKind::hybrid_pattern;
    layouts[3].split.text = "M-M*|M-M*";
    layouts[3].pp = 2;
    layouts[4].split.kind = SplitKind::first_last;
    layouts[4].split.first_stage_layers = 2;
    layouts[4].pp = 4;
    first_violation(facts, layouts[0]);  // tables are made on first use
    const long before = allocations();
    int refused = 0, planned = 0;
    for (const Layout& layout : layouts) {
      refused += first_violation(facts, layout).has_value();
      refused += first_violation(job, layout).has_value();
      planned += make_stage_plan(job, layout, plan);
      planned += grid_sizes(layout, job.gpus, 64).dp;
    }
    CHECK(allocations() == before);
    CHECK(refused < 10);
    CHECK(planned > 0);
  }
}
