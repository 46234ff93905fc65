// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <utility>
#include <vector>

#include "shardfit/search/partial.hpp"

namespace shardfit::search {

/// Order of preference: by score, then faster, then by number.
bool better(const Ranked& a, const Ranked& b);

/// The best `capacity` candidates. Merging archives in any order gives the same.
class TopK {
 public:
  explicit TopK(std::size_t capacity) : capacity_(capacity) {}
  void add(const Ranked& r);
  void merge(const TopK& other);
  std::vector<Ranked> sorted() const;
  /// A candidate of a greater score than this cannot enter.
  double threshold() const {
    return heap_.size() < capacity_ ? std::numeric_limits<double>::infinity() : heap_.empty() ? 0 : heap_.front().score;
  }
  /// Of all that came by; 0 while empty.
  double fastest_tokens_per_s_per_gpu() const { return fastest_; }

 private:
  std::size_t capacity_;
  double fastest_ = 0;
  std::vector<Ranked> heap_;  ///< worst on top
};

/// Candidates that no other beats in all metrics; of equals the one with the lowest number stays.
class ParetoFront {
 public:
  explicit ParetoFront(std::size_t metrics) : metrics_(metrics) {}
  void add(const FrontPoint& p);
  /// Whether no candidate whose scores are `bound`'s or worse can enter.
  bool beats(const FrontPoint& bound);
  void merge(const ParetoFront& other);
  std::vector<FrontPoint> sorted() const;  ///< by the scores in their order, then by number

 private:
  bool no_worse(const FrontPoint& a, const FrontPoint& b) const;

  /// Neighbours of a beaten candidate are mostly beaten by the same one, which is asked first next time.
  void ask_sooner(std::size_t i) {
    if (i > 0) std::swap(points_[i], points_[i / 2]);
  }

  std::size_t metrics_;
  std::vector<FrontPoint> points_;
};

}  // namespace shardfit::search
