// SPDX-License-Identifier: Apache-2.0
#include "shardfit/search/compare.hpp"

#include <algorithm>
#include <cmath>

#include "search/families.hpp"

namespace shardfit {
namespace {

using namespace search;

constexpr double kClearly = 0.05;  // of step time; the model's own error band at its best
constexpr int kTopKept = 32;       // the Pareto front has what of the rest is less risky

SweepResult run(const Scenario& scenario, const Estimator& estimator, const CompareOptions& options) {
  SweepOptions sweep_options;
  sweep_options.threads = options.threads;
  sweep_options.top = kTopKept;
  sweep_options.ties = 0;
  sweep_options.winners = 0;
  sweep_options.progress = options.progress;
  sweep_options.interrupted = options.interrupted;
  Goals goals;
  goals.limits = options.limits;
  return sweep(Study({{&scenario, &estimator}}, goals), sweep_options);
}

/// The fastest that is safe enough; where none is, the one with the least risk.
std::optional<Layout> pick(const Scenario& scenario, const SweepResult& result, double max_p_oom) {
  std::vector<Judged> all = result.top;
  all.insert(all.end(), result.pareto.begin(), result.pareto.end());
  if (all.empty()) return std::nullopt;
  const auto better = [max_p_oom](const Judged& a, const Judged& b) {
    const bool safe_a = a.p_oom <= max_p_oom, safe_b = b.p_oom <= max_p_oom;
    if (safe_a != safe_b) return safe_a;
    if (!safe_a && a.p_oom != b.p_oom) return a.p_oom < b.p_oom;
    if (a.quick.tokens_per_s_per_gpu != b.quick.tokens_per_s_per_gpu)
      return a.quick.tokens_per_s_per_gpu > b.quick.tokens_per_s_per_gpu;
    return a.index < b.index;
  };
  return layout_at(scenario, std::min_element(all.begin(), all.end(), better)->index);
}

FamilyResult search_family(const Scenario& whole, const Estimator& estimator, Family family, const CompareOptions& options,
                           bool& complete) {
  const Scenario scenario = restricted(whole, family);
  FamilyResult result;
  result.family = family;
  const Scenario safe = bring_up(scenario);
  const SweepResult first = run(safe, estimator, options);
  if (const auto layout = pick(safe, first, options.max_p_oom)) result.bring_up = estimator.evaluate(*layout);
  const SweepResult found = run(scenario, estimator, options);
  complete = complete && first.complete && found.complete;
  result.valid = found.valid;
  result.fit = found.fit;
  const auto layout = pick(scenario, found, options.max_p_oom);
  if (!layout) return result;
  result.best = estimator.evaluate(*layout);
  result.tuned = tuned_knobs(scenario, estimator, *layout);
  result.steps = axis_steps(scenario, estimator, *layout);
  result.changes = job_changes(scenario, *result.best);
  result.advice = advice_around(scenario, estimator, *layout);
  return result;
}

/// The two axes that every run is tuned on.
bool is_tuning(LayoutAxis axis) { return axis == LayoutAxis::micro_batch_size || axis == LayoutAxis::recompute; }

void decide(Comparison& c) {
  const FamilyResult &fsdp = c.families[Family::fsdp], &three_d = c.families[Family::three_d];
  if (!fsdp.best && !three_d.best) return;
  if (!fsdp.best || !three_d.best) {
    c.start = c.ceiling = fsdp.best ? Family::fsdp : Family::three_d;
    return;
  }
  c.ceiling = fsdp.best->step_time_s <= three_d.best->step_time_s ? Family::fsdp : Family::three_d;
  if (fsdp.tuned.size() != three_d.tuned.size()) {
    c.start = fsdp.tuned.size() < three_d.tuned.size() ? Family::fsdp : Family::three_d;
    c.reason = StartReason::fewer_knobs;
    return;
  }
  const double difference = worst_step(three_d) - worst_step(fsdp);
  if (std::abs(difference) > kClearly) {
    c.start = difference > 0 ? Family::fsdp : Family::three_d;
    c.reason = StartReason::steadier;
    return;
  }
  c.start = fsdp.valid <= three_d.valid ? Family::fsdp : Family::three_d;
  c.reason = StartReason::fewer_layouts;
}

}  // namespace

double worst_step(const FamilyResult& family) {
  double worst = 0;
  for (const AxisStep& step : family.steps)
    if (step.runs() && is_tuning(step.axis)) worst = std::max(worst, step.loss);
  return worst;
}

int dying_steps(const FamilyResult& family) {
  return int(std::count_if(family.steps.begin(), family.steps.end(),
                           [](const AxisStep& step) { return is_tuning(step.axis) && !step.refused && !step.quick.fits; }));
}

Comparison compare(const Scenario& scenario, const Estimator& estimator, const CompareOptions& options) {
  Comparison c;
  for (const Family family : {Family::fsdp, Family::three_d})
    c.families[family] = search_family(scenario, estimator, family, options, c.complete);
  decide(c);
  return c;
}

}  // namespace shardfit
