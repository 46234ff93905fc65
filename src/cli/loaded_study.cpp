// SPDX-License-Identifier: Apache-2.0
#include "cli/loaded_study.hpp"

#include <algorithm>

#include "io/load.hpp"
#include "shardfit/base/error.hpp"
#include "shardfit/base/names.hpp"

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

/// A price or power of hardware that nobody knows would be passed over in silence; of hardware that ships it may stand in a
/// list that serves many sweeps.
void refuse_unknown_hardware(const char* flag, const std::vector<std::string>& words, const io::StudyFile& file) {
  std::vector<std::string> known = io::list_hardware();
  for (const Scenario& scenario : file.scenarios) known.push_back(scenario.job.hardware.name);
  const std::vector<std::string_view> names(known.begin(), known.end());
  for (const std::string& word : words) {
    const std::size_t equals = word.rfind('=');
    if (equals == std::string::npos) continue;
    const std::string name = word.substr(0, equals);
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const auto near = nearest_name(name, names);
    throw InputError("", flag, "'" + word + "'", "a name of `shardfit list hardware`", near ? "did you mean \"" + *near + "\"?" : "");
  }
}

const io::StudyFile& checked(const io::StudyFile& file, const GoalFlags& flags) {
  refuse_unknown_hardware("--usd-per-gpu-hour", flags.usd_per_gpu_hour, file);
  refuse_unknown_hardware("--watts-per-gpu", flags.watts_per_gpu, file);
  return file;
}

std::vector<StudyJob> jobs_of(const std::vector<Scenario>& scenarios, std::deque<Estimator>& estimators) {
  std::vector<StudyJob> jobs;
  for (const Scenario& scenario : scenarios) jobs.push_back({&scenario, &estimators.emplace_back(scenario.job)});
  return jobs;
}

}  // namespace

LoadedStudy::LoadedStudy(const io::StudyFile& file, const LayoutChoice& layout, const GoalFlags& flags)
    : scenarios_(wanted(checked(file, flags), layout, goals_with(file.goals, flags).limits)),
      study_(jobs_of(scenarios_, estimators_), goals_with(file.goals, flags)) {}

}  // namespace shardfit::cli
