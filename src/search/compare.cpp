// SPDX-License-Identifier: Apache-2.0
#include "shardfit/search/compare.hpp"

#include <algorithm>
#include <cmath>

#include "search/axis_values.hpp"
#include "search/families.hpp"
#include "search/space.hpp"
#include "shardfit/spec/model_dims.hpp"

namespace shardfit {
namespace {

using namespace search;

constexpr double kMatters = 0.01;   // a smaller loss is below what two runs of one layout differ by
constexpr double kClearly = 0.05;   // of step time; the model's own error band at its best
constexpr int kTopKept = 32;        // the Pareto front has what of the rest is less risky

SweepResult run(const Scenario& scenario, const Estimator& estimator, const CompareOptions& options) {
  SweepOptions sweep_options;
  sweep_options.threads = options.threads;
  sweep_options.top = kTopKept;
  sweep_options.winners = 0;
  sweep_options.progress = options.progress;
  sweep_options.interrupted = options.interrupted;
  return sweep(scenario, estimator, sweep_options);
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

/// Where a run starts: sizes 1, everything else as the stack has it and no memory saved.
Layout untuned(const Scenario& scenario, const Layout& of) {
  Layout l = of;
  l.tp = l.cp = l.pp = l.vpp = l.ep = l.etp = l.micro_batch_size = l.optimizer_instances = 1;
  l.split = {};
  l.recompute = {};
  l.cuda_graph = {};
  l.offload.optimizer_fraction = 0;
  l.overlap.expert_alltoall = false;
  l.dispatcher = scenario.base.dispatcher;
  l.cp_comm_type = scenario.base.cp_comm_type;
  return l;
}

/// `layout` with one axis as `other` has it.
Layout with_axis(LayoutAxis axis, const Layout& other, Layout layout) {
  switch (axis) {
    case LayoutAxis::tp:
      layout.tp = other.tp;
      layout.sequence_parallel = layout.sequence_parallel && layout.tp > 1;
      break;
    case LayoutAxis::cp: layout.cp = other.cp; break;
    case LayoutAxis::ep: layout.ep = other.ep; break;
    case LayoutAxis::etp: layout.etp = other.etp; break;
    case LayoutAxis::micro_batch_size: layout.micro_batch_size = other.micro_batch_size; break;
    case LayoutAxis::dispatcher: layout.dispatcher = other.dispatcher; break;
    case LayoutAxis::cp_comm_type: layout.cp_comm_type = other.cp_comm_type; break;
    case LayoutAxis::pp: layout.pp = other.pp; break;
    case LayoutAxis::vpp: layout.vpp = other.vpp; break;
    case LayoutAxis::split: layout.split = other.split; break;
    case LayoutAxis::optimizer_instances: layout.optimizer_instances = other.optimizer_instances; break;
    case LayoutAxis::optimizer_offload: layout.offload.optimizer_fraction = other.offload.optimizer_fraction; break;
    case LayoutAxis::recompute: layout.recompute = other.recompute; break;
    case LayoutAxis::cuda_graph: layout.cuda_graph = other.cuda_graph; break;
    case LayoutAxis::expert_overlap: layout.overlap.expert_alltoall = other.overlap.expert_alltoall; break;
    default: break;
  }
  return layout;
}

std::vector<TunedKnob> tuned_knobs(const Scenario& scenario, const Estimator& estimator, const Layout& best) {
  const Layout start = untuned(scenario, best);
  Estimator::Workspace workspace;
  const Quick here = estimator.quick(best, workspace);
  std::vector<TunedKnob> knobs;
  for (std::size_t i = 0; i < kCount<LayoutAxis>; ++i) {
    const LayoutAxis axis = LayoutAxis(i);
    if (axis == LayoutAxis::sharding || same_on(axis, start, best)) continue;
    AxisStep back{.axis = axis, .layout = with_axis(axis, start, best)};
    back.refused = first_violation(scenario.job, back.layout);
    if (!back.refused) {
      back.quick = estimator.quick(back.layout, workspace);
      back.loss = back.quick.step_time_s / here.step_time_s - 1;
    }
    if (!back.runs() || back.loss > kMatters) knobs.push_back({axis, back});
  }
  return knobs;
}

Job changed(Job job, JobChangeKind kind) {
  VisionWorkload vision = job.training.vision.value_or(VisionWorkload{});
  switch (kind) {
    case JobChangeKind::frozen_vision:
      job.training.frozen.insert(ModelPart::vision_model);
      job.training.frozen.insert(ModelPart::vision_projection);
      break;
    case JobChangeKind::twice_the_images: vision.images_per_sample *= 2; break;
    default: vision.mock = true; break;
  }
  job.training.vision = vision;
  return job;
}

/// The fastest recompute that fits, of those that the search knows.
std::optional<Quick> retune(const Scenario& scenario, const Estimator& estimator, Layout& layout) {
  Estimator::Workspace workspace;
  std::optional<Quick> best;
  const Layout first = layout;
  for (const Recompute& recompute : scenario.space.recompute) {
    Layout other = first;
    other.recompute = recompute;
    if (first_violation(estimator.job(), other)) continue;
    const Quick quick = estimator.quick(other, workspace);
    if (!quick.fits || (best && quick.step_time_s >= best->step_time_s)) continue;
    best = quick;
    layout = other;
  }
  return best;
}

std::vector<JobChange> job_changes(const Scenario& scenario, const Estimate& best) {
  std::vector<JobChange> changes;
  const Job& job = scenario.job;
  if (!runs_vision(job.model, job.training)) return changes;
  const bool has_images = best.images_per_s > 0;
  for (std::size_t i = 0; i < kCount<JobChangeKind>; ++i) {
    const JobChangeKind kind = JobChangeKind(i);
    if (!has_images && kind != JobChangeKind::frozen_vision) continue;
    const Estimator estimator(changed(job, kind));
    JobChange change{.kind = kind, .layout = best.layout};
    if (kind == JobChangeKind::no_images_retuned) {
      const std::optional<Quick> quick = retune(scenario, estimator, change.layout);
      if (!quick || change.layout.recompute == best.layout.recompute) continue;
      change.quick = *quick;
    } else {
      Estimator::Workspace workspace;
      change.quick = estimator.quick(change.layout, workspace);
    }
    change.gain = best.step_time_s / change.quick.step_time_s - 1;
    changes.push_back(change);
  }
  return changes;
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
  return int(std::count_if(family.steps.begin(), family.steps.end(), [](const AxisStep& step) {
    return is_tuning(step.axis) && !step.refused && !step.quick.fits;
  }));
}

Comparison compare(const Scenario& scenario, const Estimator& estimator, const CompareOptions& options) {
  Comparison c;
  for (const Family family : {Family::fsdp, Family::three_d})
    c.families[family] = search_family(scenario, estimator, family, options, c.complete);
  decide(c);
  return c;
}

}  // namespace shardfit
