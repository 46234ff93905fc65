// SPDX-License-Identifier: Apache-2.0
#include "cli/loaded_study.hpp"

#include "shardfit/base/error.hpp"

namespace shardfit::cli {
namespace {

std::vector<Scenario> wanted(const io::StudyFile& file, const LayoutChoice& layout, const Limits& limits) {
  std::vector<Scenario> kept;
  for (const Scenario& scenario : file.scenarios)
    if (limits.gpus == 0 || scenario.job.gpus <= limits.gpus)
      kept.push_back(limited(narrowed(scenario, layout), limits));
  if (kept.empty())
    throw InputError(file.file, "gpus", "no job of at most " + std::to_string(limits.gpus) + " GPUs", "a job within the limit on GPUs");
  return kept;
}

std::vector<StudyJob> jobs_of(const std::vector<Scenario>& scenarios, std::deque<Estimator>& estimators) {
  std::vector<StudyJob> jobs;
  for (const Scenario& scenario : scenarios) jobs.push_back({&scenario, &estimators.emplace_back(scenario.job)});
  return jobs;
}

}  // namespace

LoadedStudy::LoadedStudy(const io::StudyFile& file, const LayoutChoice& layout, const GoalFlags& flags)
    : scenarios_(wanted(file, layout, goals_with(file.goals, flags).limits)),
      study_(jobs_of(scenarios_, estimators_), goals_with(file.goals, flags)) {}

}  // namespace shardfit::cli
