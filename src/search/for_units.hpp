// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#if defined(__SANITIZE_THREAD__)
#include <oneapi/tbb/task_arena.h>

#include <thread>
#include <vector>
#else
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>
#endif

namespace shardfit::search {

/// Calls `take(unit)` for the units from `first` to `end`, on the threads of the current arena, until one call returns
/// false. Units differ by orders of magnitude in work, so a thread that is free takes the next one; and because they are
/// handed out in their order and each that was begun is finished, the finished ones are always [first, result).
///
/// Under the thread sanitizer plain threads do it. A distribution's TBB is built without the sanitizer, so its hand-overs
/// between threads are invisible, and every unit would be reported; hiding all that passes through TBB would hide real
/// races too. What `take` does, which is what can race, is the same in both.
template <class Take>
std::uint64_t for_units(std::uint64_t first, std::uint64_t end, const Take& take) {
  std::atomic<std::uint64_t> next = first;
  std::atomic<bool> stop = false;
  const auto work = [&](int) {
    while (!stop) {
      std::uint64_t unit = next.load();
      do {
        if (unit >= end) return;
      } while (!next.compare_exchange_weak(unit, unit + 1));
      if (!take(unit)) stop = true;
    }
  };
  const int workers = oneapi::tbb::this_task_arena::max_concurrency();
#if defined(__SANITIZE_THREAD__)
  std::vector<std::thread> threads;
  for (int i = 0; i < workers; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
#else
  oneapi::tbb::parallel_for(0, workers, work, oneapi::tbb::simple_partitioner());
#endif
  return next;
}

}  // namespace shardfit::search
