// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "layout/rules/rule.hpp"

namespace shardfit {
namespace layout {
namespace {

bool positive(const Layout& l) {
  return std::min({l.tp, l.cp, l.pp, l.vpp, l.ep, l.etp, l.micro_batch_size, l.optimizer_instances}) >= 1;
}

bool divides_ranks(const JobFacts& job, const Layout& l) {
  return job.gpus % (std::int64_t(l.tp) * l.cp * l.pp) == 0 && job.gpus % (std::int64_t(l.etp) * l.ep * l.pp) == 0;
}

/// Axes, and sizes where they mean something; the split is left out.
Case grid_case(const JobFacts& job, const Layout& layout) {
  Case c{job, layout, {}, {}, true};
  c.grid_sound = positive(layout) && divides_ranks(job, layout);
  if (c.grid_sound) c.grid = grid_sizes(layout, job.gpus, int(std::min<std::int64_t>(job.global_batch, 1 << 30)));
  return c;
}

}  // namespace

const std::array<std::span<const Rule>, kRuleTables>& rule_tables() {
  static const std::array<std::span<const Rule>, kRuleTables> tables = {
      grid_rules(),      tensor_rules(),    sequence_rules(), pipeline_rules(), layout_string_rules(),
      hybrid_pattern_rules(), moe_rules(),  dispatcher_rules(), expert_overlap_rules(), recompute_rules(),
      offload_rules(),   graph_rules(),     precision_rules(), optimizer_rules(), fsdp_rules(),
      vision_rules()};
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

/// Calls `broken(id, finding)` for every broken rule of a table until it returns false; whether all were tried.
template <class Broken>
bool try_table(const Case& c, std::span<const Rule> table, RuleId first_id, Broken&& broken) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (!c.job.scopes.contains(table[i].scope) || c.job.stack_date < table[i].since) continue;
    const Finding finding = table[i].check(c);
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
  for (std::span<const Rule> table : layout::rule_tables()) {
    // The grid comes first and alone: most layouts of a wide space fall there, before the split is looked at.
    if (!try_table(c, table, first_id, stop)) return violation;
    if (first_id == 0) c.split = layout::split_shape(facts, layout);
    first_id += RuleId(table.size());
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
    return rule != 0;   // rule 0 says that an axis is not positive: nothing else can be asked of such a layout
  };
  RuleId first_id = 0;
  for (std::span<const Rule> table : layout::rule_tables()) {
    if (!try_table(c, table, first_id, collect)) break;
    first_id += RuleId(table.size());
  }
  return violations;
}

std::span<const RuleInfo> rules() {
  static const std::vector<RuleInfo> infos = [] {
    std::vector<RuleInfo> all;
    for (std::span<const Rule> table : layout::rule_tables())
      for (const Rule& rule : table) all.push_back(rule.info);
    return all;
  }();
  return infos;
}

}  // namespace shardfit
