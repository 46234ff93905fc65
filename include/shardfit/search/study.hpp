// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shardfit/estimate/estimator.hpp"
#include "shardfit/search/goals.hpp"

namespace shardfit {

/// One job of a sweep. Both are the caller's and outlive the study.
struct StudyJob {
  const Scenario* scenario;
  const Estimator* estimator;
};

/// What one sweep covers: a job for each hardware, GPU count and precision that the search lists, most often one. The
/// combinations of all jobs are numbered through, job after job.
class Study {
 public:
  Study(std::vector<StudyJob> jobs, Goals goals);

  std::span<const StudyJob> jobs() const { return jobs_; }
  const Goals& goals() const { return goals_; }
  /// Combinations of all jobs.
  std::uint64_t size() const { return first_.back(); }
  /// The number of a job's first combination.
  std::uint64_t first_of(std::size_t job) const { return first_[job]; }

  /// The job that a number belongs to, and its layout.
  std::size_t job_of(std::uint64_t index) const;
  const Scenario& scenario_of(std::uint64_t index) const { return *jobs_[job_of(index)].scenario; }
  const Estimator& estimator_of(std::uint64_t index) const { return *jobs_[job_of(index)].estimator; }
  Layout layout_of(std::uint64_t index) const;

 private:
  std::vector<StudyJob> jobs_;
  Goals goals_;
  std::vector<std::uint64_t> first_;  ///< one more than jobs
};

/// The metrics of the Pareto front: those of the goals; else step time against peak memory, and GPUs if jobs differ in them.
std::vector<Metric> front_metrics(const Study& study);

}  // namespace shardfit
