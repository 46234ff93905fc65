// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "search/findings.hpp"
#include "search/near_ties.hpp"
#include "shardfit/base/error.hpp"
#include "shardfit/search/partial.hpp"

namespace shardfit {
namespace {

using namespace search;

/// What a reader wants to know beyond the numbers that the sweep kept.
Judged judge(const Study& study, const Candidate& candidate) {
  const Estimator& estimator = study.estimator_of(candidate.index);
  const Layout layout = study.layout_of(candidate.index);
  Estimator::Workspace workspace;
  const PeakRisk risk = estimator.peak_risk(layout, candidate.quick, workspace);
  const TimeBand band = estimator.time_band(layout, workspace);
  Judged judged{candidate};
  judged.p_oom = risk.p_oom;
  judged.binding = risk.binding;
  judged.time_band = band.relative;
  judged.band_reason = band.reason;
  return judged;
}

std::vector<WithMoreMemory> with_more_memory(const PartialSweep& part) {
  std::vector<WithMoreMemory> out;
  for (std::size_t i = 0; i < kMoreMemory.size(); ++i) {
    WithMoreMemory w{.more = kMoreMemory[i], .best = {}, .gain = 0};
    const std::optional<Ranked>& would = part.with_more_memory[i];
    if (would && (part.best.empty() || better(*would, part.best.front()))) {
      w.best = would->candidate;
      if (!part.best.empty() && part.best.front().score != 0)
        w.gain = (part.best.front().score - would->score) / std::abs(part.best.front().score);
    }
    out.push_back(w);
  }
  return out;
}

std::vector<AxisStep> steps_of(const Study& study, const Candidate& c) {
  return axis_steps(study.scenario_of(c.index), study.estimator_of(c.index), study.layout_of(c.index));
}

[[noreturn]] void cannot_merge(const std::string& got, const std::string& expected, const std::string& hint = {}) {
  throw InputError("", "merge", got, expected, hint);
}

std::string words(Shard s) { return "shard " + std::to_string(s.index) + "/" + std::to_string(s.of); }

void check_parts(const std::vector<PartialSweep>& parts, bool whole) {
  if (parts.empty()) cannot_merge("no parts", "one part a shard");
  std::vector<bool> seen(parts.front().shard.of, false);
  for (const PartialSweep& part : parts) {
    if (part.shard.of != parts.front().shard.of)
      cannot_merge(words(part.shard) + " beside " + words(parts.front().shard), "shards of one division");
    if (seen[part.shard.index]) cannot_merge(words(part.shard) + " twice", "each shard once");
    seen[part.shard.index] = true;
    if (whole && !part.complete())
      cannot_merge(
          words(part.shard) + " with " + std::to_string(part.done) + " of " + std::to_string(part.units) + " units done",
          "finished shards", "run it again with the same --resume file");
  }
  const auto missing = std::find(seen.begin(), seen.end(), false);
  if (missing != seen.end())
    cannot_merge("no " + words({std::uint32_t(missing - seen.begin()), parts.front().shard.of}), "every shard once");
}

}  // namespace

PartialSweep merged(std::vector<PartialSweep> parts, const Study& study, const SweepOptions& options, bool whole) {
  check_parts(parts, whole);
  Findings total(capacity_of(options, front_metrics(study)));
  PartialSweep sum;
  for (PartialSweep& part : parts) {
    sum.done += part.done;
    sum.units += part.units;
    total.merge(std::move(part));
  }
  total.write_to(sum);
  return sum;
}

SweepResult result_of(const Study& study, const SweepOptions& options, PartialSweep&& part) {
  SweepResult r;
  r.space = study.size();
  r.evaluated = part.evaluated;
  r.valid = part.valid;
  r.fit = part.fit;
  r.complete = part.complete();
  r.front_metrics = front_metrics(study);
  for (std::size_t i = 0; i < part.best.size() && i < std::size_t(options.top); ++i)
    r.top.push_back(judge(study, part.best[i].candidate));
  for (const FrontPoint& p : part.front) r.pareto.push_back(judge(study, p.candidate));
  r.all = std::move(part.all);
  r.rejected = std::move(part.rejected);
  r.pruned = part.pruned;
  std::stable_sort(r.rejected.begin(), r.rejected.end(),
                   [](const Rejected& a, const Rejected& b) { return a.count > b.count; });
  for (std::size_t i = 0; i < r.top.size() && i < std::size_t(options.winners); ++i)
    r.steps.push_back(steps_of(study, r.top[i]));
  r.with_more_memory = with_more_memory(part);
  if (!r.top.empty())
    r.ties = near_ties(study, part.best, std::size_t(std::max(options.top, options.ties)), r.top.front().time_band,
                       r.top.front().band_reason);
  return r;
}

}  // namespace shardfit
