// SPDX-License-Identifier: Apache-2.0
#include "layout/rules/staged.hpp"

#include <bit>

namespace shardfit::layout {

LayoutAxis last_read(Reads reads) {
  if (reads.empty()) return LayoutAxis(kCount<LayoutAxis> - 1);
  return LayoutAxis(std::bit_width(reads.bits()) - 1);
}

namespace {
/// Rules that say nothing of what they read may read anything.
LayoutAxis first_read(Reads reads) { return reads.empty() ? LayoutAxis(0) : LayoutAxis(std::countr_zero(reads.bits())); }
}  // namespace

StagedRules::StagedRules(const JobFacts& facts) : facts_(facts) {
  RuleId id = 0;
  for (const RuleTable& table : rule_tables())
    for (const Rule& rule : table.rules) {
      if (facts_.scopes.contains(rule.scope) && facts_.stack_date >= rule.since)
        entries_[last_read(rule.reads)].push_back({rule.check, id, first_read(rule.reads)});
      ++id;
    }
}

StagedRules::Cursor::Cursor(const StagedRules& rules, const Layout& layout)
    : rules_(rules), case_(grid_case(rules.facts_, layout)) {}

void StagedRules::Cursor::entered(LayoutAxis axis) {
  // What the case derives is renewed with the last axis that it comes from; see Reads.
  if (axis == LayoutAxis::pp) {
    const Case fresh = grid_case(rules_.facts_, case_.layout);
    case_.grid = fresh.grid;
    case_.grid_sound = fresh.grid_sound;
  }
  if (axis == LayoutAxis::split) case_.split = split_shape(rules_.facts_, case_.layout);
}

template <class Keep>
std::optional<Violation> StagedRules::Cursor::first_broken(LayoutAxis axis, Keep keep) const {
  for (const Entry& entry : rules_.entries_[axis]) {
    if (!keep(entry)) continue;
    const Finding finding = entry.check(case_);
    if (finding.broken) return Violation{entry.id, finding.got, finding.need};
  }
  return std::nullopt;
}

std::optional<Violation> StagedRules::Cursor::broken_at(LayoutAxis axis) const {
  return first_broken(axis, [](const Entry&) { return true; });
}

std::optional<Violation> StagedRules::Cursor::broken_within(LayoutAxis from, LayoutAxis axis) const {
  return first_broken(axis, [from](const Entry& entry) { return entry.outermost >= from; });
}

std::optional<Violation> StagedRules::Cursor::broken_across(LayoutAxis from, LayoutAxis axis) const {
  return first_broken(axis, [from](const Entry& entry) { return entry.outermost < from; });
}

}  // namespace shardfit::layout
