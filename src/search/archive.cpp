// SPDX-License-Identifier: Apache-2.0
#include "search/archive.hpp"

#include <algorithm>

namespace shardfit::search {

bool better(const Ranked& a, const Ranked& b) {
  if (a.score != b.score) return a.score < b.score;
  const Candidate &x = a.candidate, &y = b.candidate;
  if (x.quick.step_time_s != y.quick.step_time_s) return x.quick.step_time_s < y.quick.step_time_s;
  return x.index < y.index;
}

void TopK::add(const Ranked& r) {
  if (capacity_ == 0) return;
  fastest_ = std::max(fastest_, r.candidate.quick.tokens_per_s_per_gpu);
  if (heap_.size() == capacity_) {
    if (!better(r, heap_.front())) return;
    std::pop_heap(heap_.begin(), heap_.end(), better);
    heap_.back() = r;
  } else {
    heap_.push_back(r);
  }
  std::push_heap(heap_.begin(), heap_.end(), better);
}

void TopK::merge(const TopK& other) {
  for (const Ranked& r : other.heap_) add(r);
  fastest_ = std::max(fastest_, other.fastest_);
}

std::vector<Ranked> TopK::sorted() const {
  std::vector<Ranked> v = heap_;
  std::sort(v.begin(), v.end(), better);
  return v;
}

bool ParetoFront::no_worse(const FrontPoint& a, const FrontPoint& b) const {
  for (std::size_t i = 0; i < metrics_; ++i)
    if (a.scores[i] > b.scores[i]) return false;
  return true;
}

void ParetoFront::add(const FrontPoint& p) {
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (!no_worse(points_[i], p)) continue;
    const bool equal = no_worse(p, points_[i]);
    if (equal && p.candidate.index < points_[i].candidate.index) points_[i].candidate = p.candidate;
    ask_sooner(i);
    return;
  }
  std::erase_if(points_, [&](const FrontPoint& other) { return no_worse(p, other); });
  points_.push_back(p);
  std::swap(points_.front(), points_.back());
}

bool ParetoFront::beats(const FrontPoint& bound) {
  for (std::size_t i = 0; i < points_.size(); ++i) {
    // One that is equal in all gives way to a lower number.
    if (!no_worse(points_[i], bound)) continue;
    if (no_worse(bound, points_[i]) && bound.candidate.index < points_[i].candidate.index) continue;
    ask_sooner(i);
    return true;
  }
  return false;
}

void ParetoFront::merge(const ParetoFront& other) {
  for (const FrontPoint& p : other.points_) add(p);
}

std::vector<FrontPoint> ParetoFront::sorted() const {
  std::vector<FrontPoint> v = points_;
  std::sort(v.begin(), v.end(), [&](const FrontPoint& a, const FrontPoint& b) {
    for (std::size_t i = 0; i < metrics_; ++i)
      if (a.scores[i] != b.scores[i]) return a.scores[i] < b.scores[i];
    return a.candidate.index < b.candidate.index;
  });
  return v;
}

}  // namespace shardfit::search
