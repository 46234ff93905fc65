// SPDX-License-Identifier: Apache-2.0
#include "shardfit/search/study.hpp"

#include <algorithm>

#include "shardfit/search/sweep.hpp"

namespace shardfit {

Study::Study(std::vector<StudyJob> jobs, Goals goals) : jobs_(std::move(jobs)), goals_(std::move(goals)), first_{0} {
  for (const StudyJob& job : jobs_) first_.push_back(first_.back() + space_size(job.scenario->space));
}

std::size_t Study::job_of(std::uint64_t index) const {
  return std::size_t(std::upper_bound(first_.begin(), first_.end(), index) - first_.begin()) - 1;
}

Layout Study::layout_of(std::uint64_t index) const {
  const std::size_t job = job_of(index);
  return layout_at(*jobs_[job].scenario, index - first_[job]);
}

std::vector<Metric> front_metrics(const Study& study) {
  if (!study.goals().pareto.empty()) return study.goals().pareto;
  std::vector<Metric> metrics{Metric::step_time, Metric::peak_memory};
  const auto jobs = study.jobs();
  const bool counts_differ = std::any_of(
      jobs.begin(), jobs.end(), [&](const StudyJob& job) { return job.scenario->job.gpus != jobs.front().scenario->job.gpus; });
  if (counts_differ) metrics.push_back(Metric::gpus);
  return metrics;
}

}  // namespace shardfit
