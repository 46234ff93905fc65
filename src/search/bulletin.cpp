// SPDX-License-Identifier: Apache-2.0
#include "search/bulletin.hpp"

namespace shardfit::search {

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
  options_.progress({done_, space_, valid_, fit_, best_});
}

}  // namespace shardfit::search
