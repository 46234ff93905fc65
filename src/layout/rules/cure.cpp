// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <set>

#include "layout/rules/rule.hpp"

namespace shardfit {
namespace {

using layout::Axis;
using layout::Rule;

constexpr std::array<std::string_view, kCount<Axis>> kAxisNames = {
    "",
    "tp",
    "cp",
    "pp",
    "vpp",
    "ep",
    "etp",
    "micro_batch_size",
    "sequence_parallel",
    "optimizer_instances",
    "microbatch_group_size",
    "recompute.num_layers",
    "offload.activation_layers",
};

int get(const Layout& l, Axis axis) {
  switch (axis) {
    case Axis::tp: return l.tp;
    case Axis::cp: return l.cp;
    case Axis::pp: return l.pp;
    case Axis::vpp: return l.vpp;
    case Axis::ep: return l.ep;
    case Axis::etp: return l.etp;
    case Axis::micro_batch_size: return l.micro_batch_size;
    case Axis::sequence_parallel: return l.sequence_parallel;
    case Axis::optimizer_instances: return l.optimizer_instances;
    case Axis::microbatch_group_size: return l.microbatch_group_size;
    case Axis::recompute_num_layers: return l.recompute.num_layers;
    case Axis::activation_layers: return l.offload.activation_layers;
    default: return 0;
  }
}

Layout with(Layout l, Axis axis, int value) {
  switch (axis) {
    case Axis::tp: l.tp = value; break;
    case Axis::cp: l.cp = value; break;
    case Axis::pp: l.pp = value; break;
    case Axis::vpp: l.vpp = value; break;
    case Axis::ep: l.ep = value; break;
    case Axis::etp: l.etp = value; break;
    case Axis::micro_batch_size: l.micro_batch_size = value; break;
    case Axis::sequence_parallel: l.sequence_parallel = value != 0; break;
    case Axis::optimizer_instances: l.optimizer_instances = value; break;
    case Axis::microbatch_group_size: l.microbatch_group_size = value; break;
    case Axis::recompute_num_layers: l.recompute.num_layers = value; break;
    case Axis::activation_layers: l.offload.activation_layers = value; break;
    default: break;
  }
  return l;
}

/// Values worth trying: divisors of what the axis shares out, and powers of two.
std::set<int> candidates(const JobFacts& facts, Axis axis) {
  std::set<int> values;
  const auto add_divisors = [&](std::int64_t n) {
    for (std::int64_t d = 1; d * d <= n; ++d)
      if (n % d == 0) values.insert({int(d), int(n / d)});
  };
  switch (axis) {
    case Axis::sequence_parallel: return {0, 1};
    case Axis::activation_layers: values.insert(0); [[fallthrough]];
    case Axis::recompute_num_layers:
    case Axis::vpp:
      for (int n = 1; n <= facts.layers + 2; ++n) values.insert(n);
      return values;
    case Axis::microbatch_group_size: values.insert(0); [[fallthrough]];
    case Axis::micro_batch_size: add_divisors(facts.global_batch); break;
    default: break;
  }
  add_divisors(facts.gpus);
  for (int n = 1; n <= facts.gpus; n *= 2) values.insert(n);
  return values;
}

const Rule& rule_of(RuleId id) {
  for (const layout::RuleTable& table : layout::rule_tables()) {
    if (std::size_t(id) < table.rules.size()) return table.rules[std::size_t(id)];
    id -= RuleId(table.rules.size());
  }
  std::abort();  // an id that no rule has: a bug of the caller
}

bool breaks(const JobFacts& facts, const Layout& layout, const Rule& rule) {
  return rule.check(layout::make_case(facts, layout)).broken;
}

bool is_subset(const std::vector<Violation>& now, const std::vector<Violation>& before) {
  return std::all_of(now.begin(), now.end(), [&](const Violation& v) {
    return std::any_of(before.begin(), before.end(), [&](const Violation& b) { return b.rule == v.rule; });
  });
}

/// Values of one axis that clear the rule, nearest first. Those that break nothing new go before all others, which are
/// given only where there is no such value.
std::vector<int> values_of(const JobFacts& facts, const Layout& layout, const Rule& rule, Axis axis) {
  const std::vector<Violation> before = all_violations(*facts.job, layout);
  const int now = get(layout, axis);
  std::vector<int> clean, any;
  for (int value : candidates(facts, axis)) {
    const Layout changed = with(layout, axis, value);
    if (value == now || breaks(facts, changed, rule)) continue;
    any.push_back(value);
    if (is_subset(all_violations(*facts.job, changed), before)) clean.push_back(value);
  }
  std::vector<int>& values = clean.empty() ? any : clean;
  std::stable_sort(values.begin(), values.end(), [&](int a, int b) { return std::abs(a - now) < std::abs(b - now); });
  return values;
}

}  // namespace

Cure nearest_cure(const Job& job, const Layout& layout, const Violation& violation, int most) {
  const JobFacts facts = job_facts(job);
  const Rule& rule = rule_of(violation.rule);
  for (Axis axis : rule.axes) {
    if (axis == Axis::none) break;
    std::vector<int> values = values_of(facts, layout, rule, axis);
    if (values.empty()) continue;
    if (values.size() > std::size_t(std::max(0, most))) values.resize(std::size_t(std::max(0, most)));
    return {kAxisNames[std::size_t(axis)], std::move(values)};
  }
  return {};
}

}  // namespace shardfit
