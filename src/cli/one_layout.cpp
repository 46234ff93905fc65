// SPDX-License-Identifier: Apache-2.0
#include "cli/one_layout.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/job_flags.hpp"
#include "cli/output_paths.hpp"
#include "layout/near_even_split.hpp"
#include "shardfit/spec/model_dims.hpp"

namespace shardfit::cli {

void add_one_layout_flags(CLI::App& command, OneLayoutFlags& flags) {
  command.add_option("scenario", flags.scenario, "Scenario file, or the name of one that ships")->required()->type_name("FILE");
  add_output_flags(command, flags.output);
  add_job_flags(command, flags.job, false);
  add_layout_flags(command, flags.choice, true);
}

OneLayout load_one_layout(const OneLayoutFlags& flags, const std::string& command) {
  OneLayout one;
  keep_apart({{"scenario", flags.scenario}}, {{"-o", flags.output.file}});
  one.scenario = io::first_job(io::load_study(flags.scenario, flags.job));
  ChosenLayout chosen = choose_layout(one.scenario, flags.choice, command, flags.scenario);
  one.layout = std::move(chosen.layout);
  if (!chosen.dropped.empty()) one.scenario.assumptions.push_back(std::move(chosen.dropped));
  if (!chosen.assumed.empty()) one.scenario.assumptions.push_back(std::move(chosen.assumed));
  return one;
}

namespace {

/// The most even split of the layers over the layout's stages, if with it fewer rules are broken and none that was not.
std::optional<PipelineSplit> split_that_would_do(const Job& job, const CheckResult& result) {
  Layout other = result.layout;
  const int chunks = other.pp * other.vpp;
  if (result.violations.empty() || other.pp <= 1 || chunks > job.model.text.num_hidden_layers) return std::nullopt;
  const auto split = layout::near_even_split(job.model.text.num_hidden_layers, chunks, mtp_depth(job.model.text, job.training));
  if (!split) return std::nullopt;
  other.split = *split;
  const std::vector<Violation> left = all_violations(job, other);
  const bool nothing_new = std::all_of(left.begin(), left.end(), [&](const Violation& v) {
    return std::any_of(result.violations.begin(), result.violations.end(), [&](const Violation& b) { return b.rule == v.rule; });
  });
  return nothing_new && left.size() < result.violations.size() ? split : std::nullopt;
}

}  // namespace

CheckResult check_rules(const Job& job, const Layout& layout) {
  CheckResult result;
  result.layout = layout;
  result.violations = all_violations(job, layout);
  for (const Violation& violation : result.violations) result.cures.push_back(nearest_cure(job, layout, violation));
  result.split = split_that_would_do(job, result);
  return result;
}

}  // namespace shardfit::cli
