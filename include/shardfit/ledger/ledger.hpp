// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/base/units.hpp"
#include "shardfit/ledger/terms.hpp"

namespace shardfit {

/// Keeps the sum only: what the sweep needs.
class MemoryTotal {
 public:
  void add(MemoryTerm term, Bytes bytes) {
    if (is_outside_torch(term))
      outside_ += bytes;
    else
      allocated_ += bytes;
  }
  Bytes allocated() const { return allocated_; }
  Bytes total() const { return allocated_ + outside_; }

 private:
  Bytes allocated_, outside_;
};

/// Keeps one row a term; sums are taken over the rows, so a total cannot disagree with its parts. Bytes are integers, so
/// the order of adding does not matter and both accumulators give the same bytes.
class MemoryLedger {
 public:
  void add(MemoryTerm term, Bytes bytes) { rows_[term] += bytes; }
  Bytes operator[](MemoryTerm term) const { return rows_[term]; }
  Bytes allocated() const { return sum(false); }
  Bytes total() const { return sum(false) + sum(true); }

 private:
  Bytes sum(bool outside) const {
    Bytes s;
    for (std::size_t i = 0; i < kCount<MemoryTerm>; ++i)
      if (is_outside_torch(MemoryTerm(i)) == outside) s += rows_[MemoryTerm(i)];
    return s;
  }
  EnumArray<MemoryTerm, Bytes> rows_{};
};

/// One row a term; the step time is their sum in the order of the enum.
struct TimeLedger {
  EnumArray<TimeTerm, Seconds> rows{};
  void add(TimeTerm term, Seconds s) { rows[term] += s; }
  Seconds total() const {
    Seconds s;
    for (const Seconds& row : rows) s += row;
    return s;
  }
};

}  // namespace shardfit
