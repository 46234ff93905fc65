// SPDX-License-Identifier: Apache-2.0
#include "shardfit/search/sweep.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>

#include "search/archive.hpp"
#include "search/space.hpp"
#include "shardfit/layout/job_facts.hpp"

namespace shardfit {
namespace {

using namespace search;

/// What one thread has found.
struct Findings {
  explicit Findings(std::size_t top) : best(top), rejected(rules().size() + 1) {}
  std::uint64_t evaluated = 0, valid = 0, fit = 0;
  TopK best;
  ParetoFront front;
  std::vector<Candidate> all;
  std::vector<Rejected> rejected;   ///< by rule; the last slot is memory

  void reject(std::size_t slot, int rule, std::uint64_t index, const Violation& violation) {
    Rejected& r = rejected[slot];
    if (r.count++ == 0 || index < r.example) {
      r.rule = rule;
      r.example = index;
      r.violation = violation;
    }
  }
  void merge(const Findings& o) {
    evaluated += o.evaluated;
    valid += o.valid;
    fit += o.fit;
    best.merge(o.best);
    front.merge(o.front);
    all.insert(all.end(), o.all.begin(), o.all.end());
    for (std::size_t i = 0; i < rejected.size(); ++i) {
      const Rejected& r = o.rejected[i];
      if (r.count == 0) continue;
      if (rejected[i].count == 0 || r.example < rejected[i].example) {
        const std::uint64_t count = rejected[i].count;
        rejected[i] = r;
        rejected[i].count += count;
      } else {
        rejected[i].count += r.count;
      }
    }
  }
};

/// Evaluates a run of consecutive indices on one thread. Only the digits that change between neighbours are applied.
class Walker {
 public:
  Walker(const Scenario& scenario, const Estimator& estimator, const SweepOptions& options)
      : scenario_(scenario), estimator_(estimator), options_(options), radix_(radices(scenario.space)),
        facts_(job_facts(estimator.job())), layout_(scenario.base), findings(std::size_t(options.top)) {}

  void walk(std::uint64_t begin, std::uint64_t end) {
    digits_ = digits_of(radix_, begin);
    for (std::size_t i = 0; i < kAxes; ++i) apply(static_cast<Axis>(i));
    for (std::uint64_t index = begin; index < end; ++index) {
      consider(index);
      advance();
    }
  }

 private:
  void apply(Axis axis) { apply_digit(scenario_, axis, digits_[axis], layout_); }

  void advance() {
    for (std::size_t i = kAxes; i-- > 0;) {
      const Axis axis = static_cast<Axis>(i);
      const bool carry = ++digits_[axis] == radix_[axis];
      if (carry) digits_[axis] = 0;
      if (radix_[axis] > 1) apply(axis);
      if (!carry) return;
    }
  }

  void consider(std::uint64_t index) {
    ++findings.evaluated;
    if (const auto violation = first_violation(facts_, layout_)) {
      findings.reject(std::size_t(violation->rule), violation->rule, index, *violation);
      return;
    }
    ++findings.valid;
    const Candidate candidate{index, estimator_.quick(layout_, workspace_)};
    if (options_.keep_all) findings.all.push_back(candidate);
    if (!candidate.quick.fits) {
      findings.reject(findings.rejected.size() - 1, -1, index, {});
      return;
    }
    ++findings.fit;
    findings.best.add(candidate);
    findings.front.add(candidate);
  }

  const Scenario& scenario_;
  const Estimator& estimator_;
  const SweepOptions& options_;
  const Digits radix_;
  const JobFacts facts_;
  Digits digits_{};
  Layout layout_;
  Estimator::Workspace workspace_;

 public:
  Findings findings;
};

/// Indices that share every axis down to `optimizer_offload`: they share a layer's tables, so one thread takes them all.
std::uint64_t indices_per_unit(const Digits& radix) {
  std::uint64_t n = 1;
  for (Axis axis : {Axis::recompute, Axis::cuda_graph, Axis::expert_overlap, Axis::optimizer_offload, Axis::pp, Axis::vpp,
                    Axis::split, Axis::sharding, Axis::optimizer_instances})
    n *= radix[axis];
  return n;
}

SweepResult finish(Findings&& found, std::uint64_t space, bool complete) {
  SweepResult r;
  r.space = space;
  r.evaluated = found.evaluated;
  r.valid = found.valid;
  r.fit = found.fit;
  r.complete = complete;
  r.top = found.best.sorted();
  r.pareto = found.front.sorted();
  r.all = std::move(found.all);
  std::sort(r.all.begin(), r.all.end(), [](const Candidate& a, const Candidate& b) { return a.index < b.index; });
  for (const Rejected& rejected : found.rejected)
    if (rejected.count) r.rejected.push_back(rejected);
  std::stable_sort(r.rejected.begin(), r.rejected.end(),
                   [](const Rejected& a, const Rejected& b) { return a.count > b.count; });
  return r;
}

}  // namespace

SweepResult sweep(const Scenario& scenario, const Estimator& estimator, const SweepOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const Digits radix = radices(scenario.space);
  const std::uint64_t space = space_size(scenario.space);
  const std::uint64_t unit = indices_per_unit(radix);
  const std::uint64_t units = space / std::max<std::uint64_t>(unit, 1);

  Findings total{std::size_t(options.top)};
  std::mutex merging;
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> done = 0;
  const auto report = [&] {   // called with `merging` held
    if (!options.progress) return;
    const auto best = total.best.sorted();
    options.progress({done, space, total.valid, total.fit, best.empty() ? 0 : best.front().quick.tokens_per_s_per_gpu});
  };

  const int threads = options.threads > 0 ? options.threads : tbb::this_task_arena::max_concurrency();
  tbb::global_control limit(tbb::global_control::max_allowed_parallelism, std::size_t(threads));
  tbb::task_arena arena(threads);
  arena.execute([&] {
    tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, units), [&](const tbb::blocked_range<std::uint64_t>& range) {
      Walker walker(scenario, estimator, options);
      for (std::uint64_t u = range.begin(); u != range.end() && !stop; ++u) {
        if (options.interrupted && options.interrupted()) stop = true;
        walker.walk(u * unit, (u + 1) * unit);
        done += unit;
      }
      const std::lock_guard lock(merging);
      total.merge(walker.findings);
      report();
    });
  });
  SweepResult result = finish(std::move(total), space, !stop);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace shardfit
