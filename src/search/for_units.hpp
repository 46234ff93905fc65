// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#if defined(__SANITIZE_THREAD__)
#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <thread>
#include <vector>
#else
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#endif

namespace shardfit::search {

/// Calls `take(unit)` for every unit below `units`, one unit at a time (units differ by orders of magnitude in work), on
/// the threads of the current arena.
///
/// Under the thread sanitizer plain threads do it. A distribution's TBB is built without the sanitizer, so its hand-overs
/// between threads are invisible, and every unit would be reported; hiding all that passes through TBB would hide real
/// races too. What `take` does, which is what can race, is the same in both.
template <class Take>
void for_units(std::uint64_t units, const Take& take) {
#if defined(__SANITIZE_THREAD__)
  std::atomic<std::uint64_t> next = 0;
  const auto work = [&] {
    for (std::uint64_t unit = next++; unit < units; unit = next++) take(unit);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < oneapi::tbb::this_task_arena::max_concurrency(); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
#else
  namespace tbb = oneapi::tbb;
  tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, units, 1),
                    [&](const tbb::blocked_range<std::uint64_t>& range) {
                      for (std::uint64_t unit = range.begin(); unit != range.end(); ++unit) take(unit);
                    },
                    tbb::simple_partitioner());
#endif
}

}  // namespace shardfit::search
