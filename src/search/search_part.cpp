// SPDX-License-Identifier: Apache-2.0
#include <oneapi/tbb/enumerable_thread_specific.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <chrono>

#include "search/bulletin.hpp"
#include "search/for_units.hpp"
#include "search/walk.hpp"
#include "shardfit/search/partial.hpp"

namespace shardfit {
namespace {

using namespace search;
using Clock = std::chrono::steady_clock;

/// The units of a shard that lie in one job, numbered as the shard takes them.
struct Range {
  std::uint64_t first = 0, end = 0;
};

/// Units of the shard with a number below `n`.
std::uint64_t taken_below(Shard shard, std::uint64_t n) {
  return n <= shard.index ? 0 : (n - shard.index - 1) / shard.of + 1;
}

std::uint64_t units_of(const Scenario& scenario) {
  const std::uint64_t space = space_size(scenario.space);
  return space == 0 ? 0 : space / strides(radices(scenario.space))[kLastUnitAxis];
}

/// One run over the units of a shard, job after job.
class Run {
 public:
  Run(const Study& study, const SweepOptions& options, PartialSweep&& start)
      : study_(study), options_(options), part_(std::move(start)),
        total_(capacity_of(options, shardfit::front_metrics(study))), bulletin_(options, study.size()) {
    const std::uint64_t done = part_.done;
    part_.shard = options.shard;
    bulletin_.add(part_.evaluated, part_.valid, part_.fit,
                  part_.best.empty() ? 0 : part_.best.front().candidate.quick.tokens_per_s_per_gpu);
    total_.merge(std::move(part_));
    part_.done = done;
    std::uint64_t units = 0;
    for (const StudyJob& job : study.jobs()) units += units_of(*job.scenario);
    part_.units = taken_below(part_.shard, units);
  }

  PartialSweep go() {
    std::uint64_t first = 0;   // unit of the study
    for (std::size_t job = 0; job < study_.jobs().size() && !stopped_; ++job) {
      const std::uint64_t end = first + units_of(*study_.jobs()[job].scenario);
      const Range range{taken_below(part_.shard, first), taken_below(part_.shard, end)};
      if (part_.done < range.end) walk_job(job, range, first);
      first = end;
    }
    bulletin_.tell();
    total_.write_to(part_);
    part_.all = std::move(total_.all);
    std::sort(part_.all.begin(), part_.all.end(),
              [](const Candidate& a, const Candidate& b) { return a.index < b.index; });
    return std::move(part_);
  }

 private:
  void walk_job(std::size_t job, Range range, std::uint64_t job_first) {
    // A unit that was handed out is finished, so who wants none at all is asked before the first.
    if (options_.interrupted && options_.interrupted()) stopped_ = true;
    const Search search(study_, job, options_);
    while (!stopped_ && part_.done < range.end) {
      tbb::enumerable_thread_specific<Walker> walkers([&search] { return Walker(search); });
      const Clock::time_point begun = Clock::now();
      part_.done = for_units(part_.done, range.end, [&](std::uint64_t k) {
        walk(search, walkers.local(), part_.shard.index + k * part_.shard.of - job_first);
        if (options_.interrupted && options_.interrupted()) stopped_ = true;
        return !stopped_ && std::chrono::duration<double>(Clock::now() - begun).count() < options_.checkpoint_s;
      });
      for (const Walker& walker : walkers) total_.merge(walker.findings);
      if (part_.done == range.end && job + 1 < study_.jobs().size()) return;
      if (options_.checkpoint) tell_checkpoint();
    }
  }
  void walk(const Search& search, Walker& walker, std::uint64_t unit) {
    const std::uint64_t valid = walker.findings.valid, fit = walker.findings.fit;
    walker.walk(unit);
    bulletin_.add(search.unit_size(), walker.findings.valid - valid, walker.findings.fit - fit,
                  walker.findings.best.fastest_tokens_per_s_per_gpu());
  }
  void tell_checkpoint() {
    total_.write_to(part_);
    options_.checkpoint(part_);
  }

  const Study& study_;
  const SweepOptions& options_;
  PartialSweep part_;
  Findings total_;
  Bulletin bulletin_;
  std::atomic<bool> stopped_ = false;
};

/// Runs `work` on as many threads as there may be.
template <class Work>
void on_threads(int threads, const Work& work) {
  const int n = threads > 0 ? threads : tbb::this_task_arena::max_concurrency();
  tbb::global_control limit(tbb::global_control::max_allowed_parallelism, std::size_t(n));
  tbb::task_arena arena(n);
  arena.execute(work);
}

}  // namespace

PartialSweep search_part(const Study& study, const SweepOptions& options, PartialSweep start) {
  for (const StudyJob& job : study.jobs()) require_positive(job.scenario->space);
  PartialSweep part;
  on_threads(options.threads, [&] { part = Run(study, options, std::move(start)).go(); });
  return part;
}

std::optional<std::uint64_t> count_valid(const Study& study, const SweepOptions& options) {
  std::atomic<std::uint64_t> valid = 0;
  std::atomic<bool> stopped = false;
  on_threads(options.threads, [&] {
    for (std::size_t job = 0; job < study.jobs().size() && !stopped; ++job) {
      if (space_size(study.jobs()[job].scenario->space) == 0) continue;
      const Search search(study, job, options);
      tbb::enumerable_thread_specific<Walker> walkers([&search] { return Walker(search, true); });
      for_units(0, units_of(search.scenario), [&](std::uint64_t unit) {
        walkers.local().walk(unit);
        if (options.interrupted && options.interrupted()) stopped = true;
        return !stopped;
      });
      for (const Walker& walker : walkers) valid += walker.findings.valid;
    }
  });
  if (stopped) return std::nullopt;
  return valid;
}

}  // namespace shardfit
