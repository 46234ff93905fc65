// SPDX-License-Identifier: Apache-2.0
#include "cli/one_layout.hpp"

#include <CLI/CLI.hpp>

#include "cli/job_flags.hpp"

namespace shardfit::cli {

void add_one_layout_flags(CLI::App& command, OneLayoutFlags& flags) {
  command.add_option("scenario", flags.scenario, "Scenario file, or the name of one that ships")->required()->type_name("FILE");
  add_output_flags(command, flags.output);
  add_job_flags(command, flags.job, false);
  add_layout_flags(command, flags.choice, true);
}

OneLayout load_one_layout(const OneLayoutFlags& flags, const std::string& command) {
  OneLayout one;
  one.scenario = io::first_job(io::load_study(flags.scenario, flags.job));
  ChosenLayout chosen = choose_layout(one.scenario, flags.choice, command, flags.scenario);
  one.layout = std::move(chosen.layout);
  if (!chosen.assumed.empty()) one.scenario.assumptions.push_back(std::move(chosen.assumed));
  return one;
}

CheckResult check_rules(const Job& job, const Layout& layout) {
  CheckResult result;
  result.layout = layout;
  result.violations = all_violations(job, layout);
  for (const Violation& violation : result.violations) result.cures.push_back(nearest_cure(job, layout, violation));
  return result;
}

}  // namespace shardfit::cli
