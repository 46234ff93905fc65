// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "search/aliases.hpp"
#include "search/findings.hpp"

namespace shardfit::search {

/// The axes that decide a block's shapes: a unit of work is everything below one choice of them, so that one thread has
/// their tables.
inline constexpr LayoutAxis kLastUnitAxis = LayoutAxis::cp_comm_type;

/// What all threads of a sweep read.
struct Search {
  Search(const Scenario& s, const Estimator& e, const SweepOptions& o);
  const Scenario& scenario;
  const Estimator& estimator;
  const SweepOptions& options;
  const Digits radix;
  const Strides below;
  const layout::StagedRules rules;
  const Aliases aliases;
  std::uint64_t unit_size() const { return below[kLastUnitAxis]; }
};

/// Looks at units of a space on one thread. Pruned, an axis after the other is set, and what breaks a rule takes everything
/// below along; brute force asks the same of every single combination. Both find the same.
class Walker {
 public:
  explicit Walker(const Search& search);
  /// Indices [unit * unit_size, (unit + 1) * unit_size).
  void walk(std::uint64_t unit);
  Findings findings;

 private:
  void descend(std::size_t level, std::uint64_t first);
  void walk_every_index(std::uint64_t first, std::uint64_t end);
  bool refused(LayoutAxis axis, std::uint64_t first, std::uint64_t count);
  void set(LayoutAxis axis, std::uint32_t digit);
  void evaluate(std::uint64_t index);

  const Search& search_;
  Digits digits_{};
  Layout layout_;
  layout::StagedRules::Cursor cursor_;
  Estimator::Workspace workspace_;
};

}  // namespace shardfit::search
