// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "search/archive.hpp"

namespace shardfit::search {

/// How many of what to keep.
struct Capacity {
  std::size_t best = 20, metrics = 2;
};

inline Capacity capacity_of(const SweepOptions& options, const std::vector<Metric>& metrics) {
  return {std::size_t(std::max(options.top, options.ties)), metrics.size()};
}

/// What one thread has found. Findings of disjoint parts of a study merge, in any order, into those of the whole.
struct Findings {
  explicit Findings(Capacity capacity);

  std::uint64_t evaluated = 0, valid = 0, fit = 0;
  TopK best;
  ParetoFront front;
  std::array<TopK, kMoreMemory.size()> with_more_memory;  ///< of layouts that do not fit
  std::vector<Candidate> all;
  std::vector<Rejected> rejected;  ///< by reason, see slot_of
  Pruned pruned;

  /// `count` layouts from `first` on are refused for one reason.
  void refuse(const Violation& reason, std::uint64_t first, std::uint64_t count);
  void merge(const Findings& other);
  /// Adds what a part has found.
  void merge(PartialSweep&& part);
  /// Writes all but `all`, which may be large.
  void write_to(PartialSweep& part) const;

 private:
  std::size_t slot_of(RuleId reason) const;
};

}  // namespace shardfit::search
