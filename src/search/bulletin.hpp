// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>

#include "shardfit/search/partial.hpp"

namespace shardfit::search {

/// Counts what threads have done and tells the caller now and then, one thread at a time.
class Bulletin {
 public:
  /// `start`: what was known before.
  Bulletin(const SweepOptions& options, std::uint64_t space, const PartialSweep& start);

  void add(std::uint64_t done, std::uint64_t valid, std::uint64_t fit, double best);
  void tell();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kPause{50};
  const SweepOptions& options_;
  const std::uint64_t space_, resumed_, resumed_valid_;
  std::atomic<std::uint64_t> done_ = 0, valid_ = 0, fit_ = 0;
  std::atomic<double> best_ = 0;
  std::mutex telling_;
  Clock::time_point last_{};
};

}  // namespace shardfit::search
