// SPDX-License-Identifier: Apache-2.0
#include "search/archive.hpp"

#include <algorithm>

namespace shardfit::search {
namespace {

/// Order of preference: faster, then lower index.
bool better(const Candidate& a, const Candidate& b) {
  if (a.quick.step_time_s != b.quick.step_time_s) return a.quick.step_time_s < b.quick.step_time_s;
  return a.index < b.index;
}

}  // namespace

void TopK::add(const Candidate& c) {
  if (capacity_ == 0) return;
  fastest_ = std::max(fastest_, c.quick.tokens_per_s_per_gpu);
  if (heap_.size() == capacity_) {
    if (!better(c, heap_.front())) return;
    std::pop_heap(heap_.begin(), heap_.end(), better);
    heap_.back() = c;
  } else {
    heap_.push_back(c);
  }
  std::push_heap(heap_.begin(), heap_.end(), better);
}

void TopK::merge(const TopK& other) {
  for (const Candidate& c : other.heap_) add(c);
}

std::vector<Candidate> TopK::sorted() const {
  std::vector<Candidate> v = heap_;
  std::sort(v.begin(), v.end(), better);
  return v;
}

void ParetoFront::add(const Candidate& c) {
  // front_ is sorted by rising step time and falling memory.
  const auto at = std::lower_bound(front_.begin(), front_.end(), c, [](const Candidate& a, const Candidate& b) {
    return a.quick.step_time_s < b.quick.step_time_s;
  });
  const bool equal_time = at != front_.end() && at->quick.step_time_s == c.quick.step_time_s;
  if (equal_time && at->quick.peak == c.quick.peak) {
    if (c.index < at->index) *at = c;
    return;
  }
  if (equal_time && at->quick.peak < c.quick.peak) return;
  if (at != front_.begin() && std::prev(at)->quick.peak <= c.quick.peak) return;
  auto end = at;
  while (end != front_.end() && end->quick.peak >= c.quick.peak) ++end;
  if (end == at) {
    front_.insert(at, c);
  } else {
    *at = c;
    front_.erase(std::next(at), end);
  }
}

void ParetoFront::merge(const ParetoFront& other) {
  for (const Candidate& c : other.front_) add(c);
}

}  // namespace shardfit::search
