// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "shardfit/search/sweep.hpp"

namespace shardfit::search {

/// The best `capacity` candidates by step time per token, ties by index. Merging archives in any order gives the same.
class TopK {
 public:
  explicit TopK(std::size_t capacity) : capacity_(capacity) {}
  void add(const Candidate& c);
  void merge(const TopK& other);
  std::vector<Candidate> sorted() const;
  /// 0 while empty.
  double fastest_tokens_per_s_per_gpu() const { return fastest_; }

 private:
  std::size_t capacity_;
  double fastest_ = 0;
  std::vector<Candidate> heap_;   ///< worst on top
};

/// Candidates that no other beats in both throughput per GPU and peak memory; of equals the lowest index stays.
class ParetoFront {
 public:
  void add(const Candidate& c);
  void merge(const ParetoFront& other);
  const std::vector<Candidate>& sorted() const { return front_; }   ///< fastest first, memory falling

 private:
  std::vector<Candidate> front_;
};

}  // namespace shardfit::search
