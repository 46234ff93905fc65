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
    if (limits.gpus == 0 || scenario.job.gpus <= limits.gpus) kept.push_back(limited(narrowed(scenario, layout), limits));
  if (kept.empty())
    throw InputError(file.file, "gpus", "no job of at most " + std::to_string(limits.gpus) + " GPUs",
                     "a job within the limit on GPUs");
  return kept;
}

/// Throws for a price or power of hardware that nobody knows, which would be passed over in silence. Hardware that ships may
/// stand in a list that serves many sweeps. `place`: a flag, or a JSON pointer in `file`.
void refuse_unknown_hardware(const std::string& name, const std::string& file, const std::string& place, const std::string& got,
                             const std::vector<std::string_view>& known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  const auto near = nearest_name(name, known);
  throw InputError(file, place, "'" + got + "'", "a name of `shardfit list hardware`",
                   near ? "did you mean \"" + *near + "\"?" : "");
}

/// `file`, whose goals and whose flags name no unknown hardware.
const io::StudyFile& checked(const io::StudyFile& file, const GoalFlags& flags) {
  std::vector<std::string> names = io::list_hardware();
  for (const Scenario& scenario : file.scenarios) names.push_back(scenario.job.hardware.name);
  const std::vector<std::string_view> known(names.begin(), names.end());
  const auto check_words = [&](const char* flag, const std::vector<std::string>& words) {
    for (const std::string& word : words)
      if (const std::size_t equals = word.rfind('='); equals != std::string::npos)
        refuse_unknown_hardware(word.substr(0, equals), "", flag, word, known);
  };
  const auto check_goals = [&](const std::string& key, const PerHardware& figures) {
    for (const auto& [name, figure] : figures)
      if (!name.empty()) refuse_unknown_hardware(name, file.file, "/goals/" + key + "/" + name, name, known);
  };
  check_words("--usd-per-gpu-hour", flags.usd_per_gpu_hour);
  check_words("--watts-per-gpu", flags.watts_per_gpu);
  check_goals("usd_per_gpu_hour", file.goals.usd_per_gpu_hour);
  check_goals("watts_per_gpu", file.goals.watts_per_gpu);
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
