// SPDX-License-Identifier: Apache-2.0
// Every rule at its edge: a layout without any violation, and the smallest change that breaks the rule, with both numbers.
#include "shardfit/layout/rules.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "layout/edges/all.hpp"

using namespace shardfit;
using namespace shardfit::test;

namespace {

std::string codes(const std::vector<Violation>& violations) {
  std::string text;
  for (const Violation& v : violations) text += std::string(rules()[std::size_t(v.rule)].code) + " ";
  return text;
}

RuleId id_of(std::string_view code) {
  for (std::size_t i = 0; i < rules().size(); ++i)
    if (rules()[i].code == code) return RuleId(i);
  return -1;
}

}  // namespace

TEST_CASE("every rule passes on one side of its edge and names both numbers on the other") {
  for (Edge& edge : all_edges()) {
    CAPTURE(edge.code);
    Layout layout = plain_layout();
    edge.good(edge.job, layout);
    CHECK(codes(all_violations(edge.job, layout)) == "");
    CHECK_FALSE(first_violation(edge.job, layout));
    edge.bad(edge.job, layout);
    const std::vector<Violation> violations = all_violations(edge.job, layout);
    const auto found = std::find_if(violations.begin(), violations.end(),
                                    [&](const Violation& v) { return v.rule == id_of(edge.code); });
    REQUIRE(found != violations.end());
    CHECK(found->got == edge.got);
    CHECK(found->need == edge.need);
  }
}

TEST_CASE("every rule has an edge test, a code of its own and words") {
  std::set<std::string_view> tested, seen;
  for (const Edge& edge : all_edges()) tested.insert(edge.code);
  for (const RuleInfo& rule : rules()) {
    CAPTURE(rule.code);
    CHECK(tested.count(rule.code) == 1);
    CHECK(seen.insert(rule.code).second);
    CHECK_FALSE(rule.condition.empty());
    CHECK_FALSE(rule.got.empty());
    CHECK_FALSE(rule.need.empty());
    CHECK((rule.asserted_by == RuleSource::shardfit || !rule.pointer.empty()));
  }
  CHECK(tested.size() == rules().size());
}

TEST_CASE("the first violation is the first of all violations, with and without facts taken before") {
  for (Edge& edge : all_edges()) {
    Layout layout = plain_layout();
    edge.good(edge.job, layout);
    edge.bad(edge.job, layout);
    const std::vector<Violation> all = all_violations(edge.job, layout);
    const JobFacts facts = job_facts(edge.job);
    const auto first = first_violation(edge.job, layout), again = first_violation(facts, layout);
    REQUIRE(first);
    REQUIRE(again);
    CHECK(first->rule == all.front().rule);
    CHECK(again->rule == all.front().rule);
  }
}

TEST_CASE("a rule asserted by one entry point binds that one only") {
  Layout layout = plain_layout();
  layout.overlap.param_gather = true;  // without overlap of gradient reduction
  CHECK_FALSE(first_violation(dense_job(), layout));
  CHECK(first_violation(megatron_lm(dense_job()), layout)->rule == id_of("param_overlap_grad_overlap"));

  layout = plain_layout();
  layout.cuda_graph.impl = CudaGraphImpl::local;
  CHECK(first_violation(dense_job(), layout)->rule == id_of("local_graphs_bridge"));
  CHECK_FALSE(first_violation(megatron_lm(dense_job()), layout));

  layout = plain_layout();
  layout.pp = 3;
  Job twelve_gpus = torch_tools(dense_job());
  twelve_gpus.gpus = 12;
  twelve_gpus.training.global_batch_size = 12;
  CHECK_FALSE(first_violation(twelve_gpus, layout));  // torch tools share 8 layers over 3 stages
}

TEST_CASE("tools of torch too have whole instances, and no virtual stages without a pipeline") {
  const auto first = [](const Job& job, auto change) {
    Layout layout = plain_layout();
    change(layout);
    const auto violation = first_violation(job, layout);
    return violation ? rules()[std::size_t(violation->rule)].code : std::string_view();
  };
  CHECK(first(torch_tools(dense_job()), [](Layout& l) { l.optimizer_instances = 4; }) == "");
  CHECK(first(torch_tools(dense_job()), [](Layout& l) { l.optimizer_instances = 3; }) == "instances_divide_dp");
  CHECK(first(torch_tools(moe_job()), [](Layout& l) { l.ep = 8, l.optimizer_instances = 4; }) == "instances_divide_edp");
  CHECK(first(torch_tools(dense_job()), [](Layout& l) { l.vpp = 2; }) == "vpp_needs_pp");
  CHECK(first(torch_tools(dense_job()), [](Layout& l) { l.pp = l.vpp = 2; }) == "");
}

TEST_CASE("a rule that a stack began to assert does not bind older software") {
  Job job = dense_job();
  Layout layout = plain_layout();
  layout.cuda_graph.impl = CudaGraphImpl::local;
  for (const char* date : {"2026-07-10", "2026-08", "", "unknown"}) {
    job.stack.date = date;
    CHECK(first_violation(job, layout));
  }
  for (const char* date : {"2026-07-09", "2025-10", "2025"}) {
    job.stack.date = date;
    CHECK_FALSE(first_violation(job, layout));
  }
}
