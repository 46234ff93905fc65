// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/ledger/ledger.hpp"

namespace shardfit {

/// What the rows of the fullest rank at its worst moment say beyond their sum.
struct PeakRisk {
  double p_oom = 0;                          ///< chance of running out of memory, as `Verdict::p_oom`
  MemoryTerm binding = MemoryTerm::weights;  ///< the largest term
};

/// The term with most bytes; of equal ones the first.
inline MemoryTerm largest_term(const MemoryLedger& ledger) {
  MemoryTerm largest = MemoryTerm(0);
  for (std::size_t t = 1; t < kCount<MemoryTerm>; ++t)
    if (ledger[MemoryTerm(t)] > ledger[largest]) largest = MemoryTerm(t);
  return largest;
}

}  // namespace shardfit
