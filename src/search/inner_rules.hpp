// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "layout/rules/staged.hpp"
#include "search/space.hpp"

namespace shardfit::search {

/// Verdicts of the rules that read nothing but the innermost axes, by the digits of those: a walk comes to the same few
/// hundred again below every choice of the outer ones. Read only after construction.
class InnerRules {
 public:
  InnerRules(const Scenario& scenario, const layout::StagedRules& rules);

  /// As `cursor.broken_at(axis)`, which it has to agree with: rules are numbered in their order, so of the first broken one
  /// here and the first broken one of those that read outer axes too the smaller number is the first of all.
  std::optional<Violation> broken_at(LayoutAxis axis, const Digits& digits, const layout::StagedRules::Cursor& cursor) const {
    if (axis < kFrom) return cursor.broken_at(axis);
    const std::optional<Violation>& inner = verdicts_[axis][place(axis, digits)];
    const std::optional<Violation> across = cursor.broken_across(kFrom, axis);
    return inner && (!across || inner->rule < across->rule) ? inner : across;
  }

 private:
  /// The axes from here on: recompute, graphs, expert overlap.
  static constexpr LayoutAxis kFrom = LayoutAxis::recompute;
  std::size_t place(LayoutAxis axis, const Digits& digits) const {
    std::size_t at = 0;
    for (std::size_t i = std::size_t(kFrom); i <= std::size_t(axis); ++i)
      at = at * radix_[LayoutAxis(i)] + digits[LayoutAxis(i)];
    return at;
  }
  void fill(const Scenario& scenario, LayoutAxis axis, Digits& digits, Layout& layout, layout::StagedRules::Cursor& cursor);

  Digits radix_;
  EnumArray<LayoutAxis, std::vector<std::optional<Violation>>> verdicts_;
};

}  // namespace shardfit::search
