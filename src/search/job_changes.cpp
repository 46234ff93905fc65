// SPDX-License-Identifier: Apache-2.0
#include "search/families.hpp"
#include "shardfit/spec/model_dims.hpp"

namespace shardfit::search {
namespace {

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

}  // namespace

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

}  // namespace shardfit::search
