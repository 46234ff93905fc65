// SPDX-License-Identifier: Apache-2.0
#include "search/bulletin.hpp"

namespace shardfit::search {

Bulletin::Bulletin(const SweepOptions& options, std::uint64_t space, const PartialSweep& start)
    : options_(options), space_(space), resumed_(start.evaluated), resumed_valid_(start.valid) {
  add(start.evaluated, start.valid, start.fit,
      start.best.empty() ? 0 : start.best.front().candidate.quick.tokens_per_s_per_gpu);
}

void Bulletin::add(std::uint64_t done, std::uint64_t valid, std::uint64_t fit, double best) {
  done_ += done;
  valid_ += valid;
  fit_ += fit;
  for (double seen = best_; best > seen && !best_.compare_exchange_weak(seen, best);) {}
  if (!options_.progress) return;
  const std::unique_lock lock(telling_, std::try_to_lock);
  if (!lock.owns_lock() || Clock::now() - last_ < kPause) return;
  tell();
}

void Bulletin::tell() {
  if (!options_.progress) return;
  last_ = Clock::now();
  options_.progress({done_, space_, valid_, fit_, best_, options_.expected_valid, resumed_, resumed_valid_});
}

}  // namespace shardfit::search
