// SPDX-License-Identifier: Apache-2.0
#include "search/inner_rules.hpp"

namespace shardfit::search {

InnerRules::InnerRules(const Scenario& scenario, const layout::StagedRules& rules) : radix_(radices(scenario.space)) {
  if (space_size(scenario.space) == 0) return;
  Layout layout = layout_at(scenario, 0);
  layout::StagedRules::Cursor cursor(rules, layout);
  Digits digits{};
  fill(scenario, kFrom, digits, layout, cursor);
}

void InnerRules::fill(const Scenario& scenario, LayoutAxis axis, Digits& digits, Layout& layout,
                      layout::StagedRules::Cursor& cursor) {
  if (axis == LayoutAxis::count) return;
  for (digits[axis] = 0; digits[axis] < radix_[axis]; ++digits[axis]) {
    apply_digit(scenario, axis, digits[axis], layout);
    cursor.entered(axis);
    verdicts_[axis].push_back(cursor.broken_within(kFrom, axis));
    fill(scenario, LayoutAxis(std::size_t(axis) + 1), digits, layout, cursor);
  }
}

}  // namespace shardfit::search
