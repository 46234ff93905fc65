// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "layout/rules/rule.hpp"

namespace shardfit::layout {

/// The rules that concern one job, each under the last axis that it reads: with the axes up to there set, its verdict is
/// that of every layout below. The order of a sweep's reasons: by this axis, then as in the tables.
class StagedRules {
 public:
  explicit StagedRules(const JobFacts& facts);
  const JobFacts& facts() const { return facts_; }

  /// One thread's view of a layout whose axes are set one after the other, outermost first. Axes beyond the one asked
  /// about may hold any positive value. Keeps a reference to the layout; no allocation.
  class Cursor {
   public:
    Cursor(const StagedRules& rules, const Layout& layout);
    /// Call after `axis` was set and before `broken_at(axis)`.
    void entered(LayoutAxis axis);
    /// The first rule of `axis` that the layout breaks.
    std::optional<Violation> broken_at(LayoutAxis axis) const;
    /// The same of those rules of `axis` that read nothing further out than `from`, and of those that do.
    std::optional<Violation> broken_within(LayoutAxis from, LayoutAxis axis) const;
    std::optional<Violation> broken_across(LayoutAxis from, LayoutAxis axis) const;

   private:
    template <class Keep>
    std::optional<Violation> first_broken(LayoutAxis axis, Keep keep) const;
    const StagedRules& rules_;
    Case case_;
  };

 private:
  struct Entry {
    Finding (*check)(const Case&);
    RuleId id;
    LayoutAxis outermost;  ///< of the axes it reads
  };
  const JobFacts facts_;
  EnumArray<LayoutAxis, std::vector<Entry>> entries_;
};

/// The axis under which a rule with these `reads` stands.
LayoutAxis last_read(Reads reads);

}  // namespace shardfit::layout
