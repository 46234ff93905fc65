// SPDX-License-Identifier: Apache-2.0
#include "shardfit/search/sweep.hpp"

#include <oneapi/tbb/enumerable_thread_specific.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <chrono>
#include <mutex>

#include "search/for_units.hpp"
#include "search/walk.hpp"

namespace shardfit {
namespace {

using namespace search;
using Clock = std::chrono::steady_clock;

/// Counts what threads have done and tells the caller now and then, one thread at a time.
class Bulletin {
 public:
  Bulletin(const SweepOptions& options, std::uint64_t space) : options_(options), space_(space) {}

  void add(std::uint64_t done, std::uint64_t valid, std::uint64_t fit, double best) {
    done_ += done;
    valid_ += valid;
    fit_ += fit;
    for (double seen = best_; best > seen && !best_.compare_exchange_weak(seen, best);) {}
    if (!options_.progress) return;
    const std::unique_lock lock(telling_, std::try_to_lock);
    if (!lock.owns_lock() || Clock::now() - last_ < kPause) return;
    tell();
  }
  void tell() {
    if (!options_.progress) return;
    last_ = Clock::now();
    options_.progress({done_, space_, valid_, fit_, best_});
  }

 private:
  static constexpr std::chrono::milliseconds kPause{50};
  const SweepOptions& options_;
  const std::uint64_t space_;
  std::atomic<std::uint64_t> done_ = 0, valid_ = 0, fit_ = 0;
  std::atomic<double> best_ = 0;
  std::mutex telling_;
  Clock::time_point last_{};
};

/// Walks all units on as many threads as there may be; false if stopped early.
bool walk_units(const Search& search, std::uint64_t units, Bulletin& bulletin, Findings& total) {
  std::atomic<bool> stop = false;
  tbb::enumerable_thread_specific<Walker> walkers([&search] { return Walker(search); });
  const auto take = [&](std::uint64_t unit) {
    if (search.options.interrupted && search.options.interrupted()) stop = true;
    if (stop) return;
    Walker& walker = walkers.local();
    const std::uint64_t valid = walker.findings.valid, fit = walker.findings.fit;
    walker.walk(unit);
    bulletin.add(search.unit_size(), walker.findings.valid - valid, walker.findings.fit - fit,
                 walker.findings.best.fastest_tokens_per_s_per_gpu());
  };
  for_units(units, take);
  for (const Walker& walker : walkers) total.merge(walker.findings);
  return !stop;
}

}  // namespace

namespace {

/// The layouts that a reader will look at get the chance that their memory need is an underestimate.
void judge(const Scenario& scenario, const Estimator& estimator, std::vector<Candidate>& candidates) {
  for (Candidate& c : candidates) c.p_oom = estimator.evaluate(layout_at(scenario, c.index)).verdict.p_oom;
}

}  // namespace

SweepResult sweep(const Scenario& scenario, const Estimator& estimator, const SweepOptions& options) {
  const auto start = Clock::now();
  require_positive(scenario.space);
  const std::uint64_t space = space_size(scenario.space);
  Findings total{std::size_t(options.top)};
  bool complete = true;
  if (space > 0) {
    const Search search(scenario, estimator, options);
    Bulletin bulletin(options, space);
    const int threads = options.threads > 0 ? options.threads : tbb::this_task_arena::max_concurrency();
    tbb::global_control limit(tbb::global_control::max_allowed_parallelism, std::size_t(threads));
    tbb::task_arena arena(threads);
    arena.execute([&] { complete = walk_units(search, space / search.unit_size(), bulletin, total); });
    bulletin.tell();
  }
  SweepResult result = result_of(std::move(total));
  judge(scenario, estimator, result.top);
  judge(scenario, estimator, result.pareto);
  result.space = space;
  result.complete = complete;
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

}  // namespace shardfit
