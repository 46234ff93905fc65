// SPDX-License-Identifier: Apache-2.0
#include <oneapi/tbb/enumerable_thread_specific.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>

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
std::uint64_t taken_below(Shard shard, std::uint64_t n) { return n <= shard.index ? 0 : (n - shard.index - 1) / shard.of + 1; }

std::uint64_t units_of(const Scenario& scenario) {
  const std::uint64_t space = space_size(scenario.space);
  return space == 0 ? 0 : space / strides(radices(scenario.space))[kLastUnitAxis];
}

std::uint64_t unit_size_of(const Scenario& scenario) { return strides(radices(scenario.space))[kLastUnitAxis]; }

/// Combinations of a shard.
std::uint64_t combinations_of(const Study& study, Shard shard) {
  std::uint64_t first = 0, sum = 0;
  for (const StudyJob& job : study.jobs()) {
    const std::uint64_t end = first + units_of(*job.scenario);
    sum += (taken_below(shard, end) - taken_below(shard, first)) * unit_size_of(*job.scenario);
    first = end;
  }
  return sum;
}

/// Hands rows on in the order of units, which threads finish in another.
class OrderedRows {
 public:
  OrderedRows(const SweepOptions& options, std::uint64_t first) : options_(options), next_(first) {}
  void add(std::uint64_t unit, std::vector<Candidate>& rows) {
    std::string text = options_.row_text(rows);
    rows.clear();
    const std::lock_guard lock(mutex_);
    waiting_.emplace(unit, std::move(text));
    for (auto at = waiting_.begin(); at != waiting_.end() && at->first == next_; at = waiting_.erase(at), ++next_)
      options_.rows(at->second);
  }

 private:
  const SweepOptions& options_;
  std::mutex mutex_;
  std::uint64_t next_;
  std::map<std::uint64_t, std::string> waiting_;
};

/// One run over the units of a shard, job after job.
class Run {
 public:
  Run(const Study& study, const SweepOptions& options, PartialSweep&& start)
      : study_(study),
        options_(options),
        part_(std::move(start)),
        total_(capacity_of(options, shardfit::front_metrics(study))),
        bulletin_(options, combinations_of(study, options.shard), part_),
        rows_(options, part_.done) {
    part_.shard = options.shard;
    std::uint64_t units = 0;
    for (const StudyJob& job : study.jobs()) units += units_of(*job.scenario);
    part_.units = taken_below(part_.shard, units);
    total_.merge(std::move(part_));
  }

  PartialSweep go() {
    std::uint64_t first = 0;  // unit of the study
    for (std::size_t job = 0; job < study_.jobs().size() && !stopped_; ++job) {
      const std::uint64_t end = first + units_of(*study_.jobs()[job].scenario);
      const Range range{taken_below(part_.shard, first), taken_below(part_.shard, end)};
      if (part_.done < range.end) walk_job(job, range, first);
      first = end;
    }
    bulletin_.tell();
    total_.write_to(part_);
    part_.all = std::move(total_.all);
    const auto by_index = [](const Candidate& a, const Candidate& b) { return a.index < b.index; };
    if (!std::is_sorted(part_.all.begin(), part_.all.end(), by_index)) std::sort(part_.all.begin(), part_.all.end(), by_index);
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
        Walker& walker = walkers.local();
        walk(search, walker, part_.shard.index + k * part_.shard.of - job_first);
        if (options_.row_text) rows_.add(k, walker.findings.all);
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
  OrderedRows rows_;
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

PartialSweep search_nothing(const Study& study, const SweepOptions& options, PartialSweep start) {
  SweepOptions none = options;
  none.interrupted = [] { return true; };
  none.progress = nullptr;
  none.checkpoint = nullptr;
  return search_part(study, none, std::move(start));
}

namespace {

/// Walks a shard of a study with walkers of its own for each job, told what to do there; false if it was stopped. `finish` is
/// given each of them.
template <class Make, class Finish>
bool walk_all(const Study& study, const SweepOptions& options, const Make& make, const Finish& finish) {
  std::atomic<bool> stopped = false;
  on_threads(options.threads, [&] {
    std::uint64_t first = 0;  // unit of the study
    for (std::size_t job = 0; job < study.jobs().size() && !stopped; ++job) {
      const std::uint64_t end = first + units_of(*study.jobs()[job].scenario);
      if (end > first) {
        const Search search(study, job, options);
        tbb::enumerable_thread_specific<Walker> walkers([&] { return make(search); });
        for_units(taken_below(options.shard, first), taken_below(options.shard, end), [&](std::uint64_t k) {
          walkers.local().walk(options.shard.index + k * options.shard.of - first);
          if (options.interrupted && options.interrupted()) stopped = true;
          return !stopped;
        });
        for (const Walker& walker : walkers) finish(walker);
      }
      first = end;
    }
  });
  return !stopped;
}

}  // namespace

std::optional<std::uint64_t> count_valid(const Study& study, const SweepOptions& options) {
  std::uint64_t valid = 0;
  const bool whole = walk_all(
      study, options, [](const Search& search) { return Walker(search, Walker::Task::count); },
      [&](const Walker& walker) { valid += walker.findings.valid; });
  return whole ? std::optional(valid) : std::nullopt;
}

std::optional<Candidate> nearest_to_fitting(const Study& study, const SweepOptions& options) {
  SweepOptions pruned = options;
  pruned.prune = true;
  pruned.shard = {};
  std::optional<Nearest> nearest;
  const bool whole = walk_all(
      study, pruned, [](const Search& search) { return Walker(search, Walker::Task::find_nearest); },
      [&](const Walker& walker) {
        const std::optional<Nearest>& found = walker.nearest();
        if (found && (!nearest || found->before(*nearest))) nearest = found;
      });
  if (!whole || !nearest) return std::nullopt;
  Estimator::Workspace workspace;
  const std::uint64_t index = nearest->index;
  return Candidate{index, study.estimator_of(index).quick(study.layout_of(index), workspace)};
}

}  // namespace shardfit
