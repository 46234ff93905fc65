// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "layout/rules/rule.hpp"

namespace shardfit {
namespace layout {
namespace {

bool positive(const Layout& l) {
  return std::min({l.tp, l.cp, l.pp, l.vpp, l.ep, l.etp, l.micro_batch_size, l.optimizer_instances}) >= 1;
}

/// The axes that make the grid.
bool grid_positive(const Layout& l) { return std::min({l.tp, l.cp, l.pp, l.ep, l.etp, l.micro_batch_size}) >= 1; }

bool divides_ranks(const JobFacts& job, const Layout& l) {
  return job.gpus % (std::int64_t(l.tp) * l.cp * l.pp) == 0 && job.gpus % (std::int64_t(l.etp) * l.ep * l.pp) == 0;
}

}  // namespace

Case grid_case(const JobFacts& job, const Layout& layout) {
  Case c{job, layout, {}, {}, true};
  c.grid_sound = grid_positive(layout) && divides_ranks(job, layout);
  if (c.grid_sound) c.grid = grid_sizes(layout, job.gpus, int(std::min<std::int64_t>(job.global_batch, 1 << 30)));
  return c;
}

const std::array<RuleTable, kRuleTables>& rule_tables() {
  static const std::array<RuleTable, kRuleTables> tables = {
      RuleTable{grid_rules()},
      {tensor_rules()},
      {sequence_rules()},
      {pipeline_rules()},
      {layout_string_rules(), [](const Case& c) { return c.layout.split.kind == SplitKind::layout_string; }},
      {hybrid_pattern_rules(), [](const Case& c) { return c.layout.split.kind == SplitKind::hybrid_pattern; }},
      {moe_rules(), [](const Case& c) { return c.job.experts > 0 || c.layout.ep > 1; }},
      {dispatcher_rules(), [](const Case& c) { return c.layout.dispatcher >= Dispatcher::deepep; }},
      {expert_overlap_rules(), [](const Case& c) { return c.layout.overlap.expert_alltoall || c.layout.overlap.delay_wgrad; }},
      {recompute_rules(), [](const Case& c) { return c.layout.recompute.granularity != RecomputeGranularity::none; }},
      {offload_rules(), [](const Case& c) { return !(c.layout.offload == Offload{}); }},
      {graph_rules(), [](const Case& c) { return !(c.layout.cuda_graph == CudaGraph{}); }},
      {precision_rules()},
      {optimizer_rules()},
      {fsdp_rules(),
       [](const Case& c) { return c.layout.sharding >= Sharding::optimizer_grads || c.layout.fsdp_double_buffer; }},
      {vision_rules(), [](const Case& c) { return c.job.job->model.vision && !c.job.job->training.text_only; }}};
  return tables;
}

Case make_case(const JobFacts& job, const Layout& layout) {
  Case c = grid_case(job, layout);
  if (positive(layout)) c.split = split_shape(job, layout);
  return c;
}

}  // namespace layout

namespace {

using layout::Case;
using layout::Finding;
using layout::Rule;
using layout::RuleTable;

/// What a check needs of a rule, apart from its words: the loop below runs over a few kilobytes only.
struct BareRule {
  Finding (*check)(const Case&);
  RuleScope scope;
  int since;
};
struct BareTable {
  std::vector<BareRule> rules;
  bool (*concerns)(const Case&);
};

const std::vector<BareTable>& bare_tables() {
  static const std::vector<BareTable> tables = [] {
    std::vector<BareTable> all;
    for (const RuleTable& table : layout::rule_tables()) {
      all.push_back({{}, table.concerns});
      for (const Rule& rule : table.rules) all.back().rules.push_back({rule.check, rule.scope, rule.since});
    }
    return all;
  }();
  return tables;
}

/// Calls `broken(id, finding)` for every broken rule of a table until it returns false; whether all were tried.
template <class Broken>
bool try_table(const Case& c, const BareTable& table, RuleId first_id, Broken&& broken) {
  if (table.concerns != nullptr && !table.concerns(c)) return true;
  for (std::size_t i = 0; i < table.rules.size(); ++i) {
    const BareRule& rule = table.rules[i];
    if (!c.job.scopes.contains(rule.scope) || c.job.stack_date < rule.since) continue;
    const Finding finding = rule.check(c);
    if (finding.broken && !broken(first_id + RuleId(i), finding)) return false;
  }
  return true;
}

}  // namespace

std::optional<Violation> first_violation(const JobFacts& facts, const Layout& layout) {
  std::optional<Violation> violation;
  const auto stop = [&](RuleId rule, const Finding& finding) {
    violation = Violation{rule, finding.got, finding.need};
    return false;
  };
  Case c = layout::grid_case(facts, layout);
  RuleId first_id = 0;
  for (const BareTable& table : bare_tables()) {
    // The grid comes first and alone: most layouts of a wide space fall there, before the split is looked at.
    if (!try_table(c, table, first_id, stop)) return violation;
    if (first_id == 0) c.split = layout::split_shape(facts, layout);
    first_id += RuleId(table.rules.size());
  }
  return std::nullopt;
}

std::optional<Violation> first_violation(const Job& job, const Layout& layout) {
  return first_violation(job_facts(job), layout);
}

std::vector<Violation> all_violations(const Job& job, const Layout& layout) {
  const JobFacts facts = job_facts(job);
  const Case c = layout::make_case(facts, layout);
  std::vector<Violation> violations;
  const auto collect = [&](RuleId rule, const Finding& finding) {
    violations.push_back({rule, finding.got, finding.need});
    return rule != 0;  // rule 0 says that an axis is not positive: nothing else can be asked of such a layout
  };
  RuleId first_id = 0;
  for (const BareTable& table : bare_tables()) {
    if (!try_table(c, table, first_id, collect)) break;
    first_id += RuleId(table.rules.size());
  }
  return violations;
}

std::span<const RuleInfo> rules() {
  static const std::vector<RuleInfo> infos = [] {
    std::vector<RuleInfo> all;
    for (const RuleTable& table : layout::rule_tables())
      for (const Rule& rule : table.rules) all.push_back(rule.info);
    return all;
  }();
  return infos;
}

}  // namespace shardfit
