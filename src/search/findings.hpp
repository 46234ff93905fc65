// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "search/archive.hpp"

namespace shardfit::search {

/// What one thread has found. Findings of disjoint parts of a space merge, in any order, into those of the whole.
struct Findings {
  explicit Findings(std::size_t top);

  std::uint64_t evaluated = 0, valid = 0, fit = 0;
  TopK best;
  ParetoFront front;
  std::vector<Candidate> all;
  std::vector<Rejected> rejected;   ///< by reason, see slot_of

  /// `count` layouts from `first` on are refused for one reason.
  void refuse(const Violation& reason, std::uint64_t first, std::uint64_t count);
  void keep(const Candidate& candidate);
  void merge(const Findings& other);

 private:
  std::size_t slot_of(RuleId reason) const;
};

/// Sorted and without the reasons that nobody met.
SweepResult result_of(Findings&& found);

}  // namespace shardfit::search
