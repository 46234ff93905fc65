// SPDX-License-Identifier: Apache-2.0
// What a refused layout should have in place of what was refused.
#include <doctest/doctest.h>

#include "layout/edges/all.hpp"
#include "shardfit/layout/rules.hpp"

using namespace shardfit;
using namespace shardfit::test;

TEST_CASE("the nearest values that cure a violation") {
  Layout layout = plain_layout();
  Job job = dense_job();
  job.gpus = 48;
  job.training.global_batch_size = 48;
  layout.tp = 3;
  const Violation heads = *first_violation(job, layout);
  CHECK(rules()[std::size_t(heads.rule)].code == "tp_divides_heads");
  CHECK(heads.got == 3);
  CHECK(heads.need == 8);
  Cure cure = nearest_cure(job, layout, heads);
  CHECK(cure.axis == "tp");
  CHECK(cure.values == std::vector{2, 4, 1});
  CHECK(nearest_cure(job, layout, heads, 1).values == std::vector{2});

  // 3 of 8 layers a stage: 2 and 4 stages divide the layers and the ranks.
  layout = plain_layout();
  layout.pp = 3;
  const Violation layers = *first_violation(job, layout);
  cure = nearest_cure(job, layout, layers);
  CHECK(cure.axis == "pp");
  CHECK(cure.values == std::vector{2, 4, 1});
}

TEST_CASE("a cure breaks nothing new where that can be helped, and clears its rule in any case") {
  for (Edge& edge : all_edges()) {
    CAPTURE(edge.code);
    Layout layout = plain_layout();
    edge.good(edge.job, layout);
    edge.bad(edge.job, layout);
    for (const Violation& violation : all_violations(edge.job, layout)) {
      const Cure cure = nearest_cure(edge.job, layout, violation);
      CHECK(cure.values.size() <= 3);
      CHECK(cure.axis.empty() == cure.values.empty());
      for (int value : cure.values) {
        Layout cured = layout;
        if (cure.axis == "tp")
          cured.tp = value;
        else if (cure.axis == "cp")
          cured.cp = value;
        else if (cure.axis == "pp")
          cured.pp = value;
        else if (cure.axis == "ep")
          cured.ep = value;
        else if (cure.axis == "etp")
          cured.etp = value;
        else if (cure.axis == "vpp")
          cured.vpp = value;
        else
          continue;
        for (const Violation& left : all_violations(edge.job, cured)) CHECK(left.rule != violation.rule);
      }
    }
  }
}

TEST_CASE("a rule about sequence parallelism is cured by turning it on") {
  Job job = moe_job();
  Layout layout = plain_layout();
  layout.tp = 2;
  const Cure cure = nearest_cure(job, layout, *first_violation(job, layout));
  CHECK(cure.axis == "sequence_parallel");
  CHECK(cure.values == std::vector{1});
}
