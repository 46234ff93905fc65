// SPDX-License-Identifier: Apache-2.0
#include "cli/one_layout.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/help.hpp"
#include "cli/job_flags.hpp"
#include "cli/output_paths.hpp"
#include "io/load.hpp"
#include "layout/near_even_split.hpp"
#include "shardfit/base/error.hpp"
#include "shardfit/base/names.hpp"
#include "shardfit/spec/model_dims.hpp"

namespace shardfit::cli {

void add_one_layout_flags(CLI::App& command, OneLayoutFlags& flags) {
  command.add_option("scenario", flags.scenario, "Scenario file, or the name of one that ships")->required()->type_name("FILE");
  command
      .add_option("--run", flags.run, "FILE holds measured runs (see `validate`): the job and layout of the one with this id")
      ->type_name("ID")
      ->check(some_text());
  add_output_flags(command, flags.output);
  add_job_flags(command, flags.job, false);
  add_layout_flags(command, flags.choice, true);
}

namespace {

/// The job and layout of a measured run, with the layout flags applied: what is predicted for it, and what a change to it would
/// do. Its job is the row's, so flags that change a job are refused.
OneLayout load_run(const OneLayoutFlags& flags, const std::string& command) {
  const io::JobChoice& job = flags.job;
  if (!job.hardware.empty() || !job.gpus.empty() || !job.precision.empty() || !job.set.empty())
    throw InputError("", "--run", "--hardware, --gpus, --precision or --set beside it", "flags of the layout alone",
                     "write the job as a scenario to change it");
  std::vector<validation::MeasuredRun> runs = io::load_measured(flags.scenario);
  std::vector<std::string_view> ids;
  for (const validation::MeasuredRun& run : runs) ids.push_back(run.id);
  const auto at = std::find(ids.begin(), ids.end(), flags.run);
  if (at == ids.end()) {
    const auto near = nearest_name(flags.run, ids);
    throw InputError(flags.scenario, "--run", "'" + flags.run + "'", "the id of a run in the file",
                     near ? "did you mean \"" + *near + "\"?" : "");
  }
  if (const auto same = std::count(ids.begin(), ids.end(), *at); same > 1)
    throw InputError(flags.scenario, "--run", std::to_string(same) + " runs of id '" + flags.run + "'",
                     "an id that one run has");
  validation::MeasuredRun& run = runs[std::size_t(at - ids.begin())];
  if (!run.invalid.empty()) throw InputError(flags.scenario, "--run", flags.run, "a run that can be read", run.invalid);
  OneLayout one{std::move(run.scenario), {}};
  const Layout base = flags.choice.id.empty() ? one.scenario.base : parse_layout_id(flags.choice.id);
  one.layout = changed_layout(base, flags.choice, one.scenario, command);
  for (const std::string& feature : run.unsupported) one.scenario.assumptions.push_back("not computed: " + feature);
  return one;
}

}  // namespace

OneLayout load_one_layout(const OneLayoutFlags& flags, const std::string& command) {
  OneLayout one;
  keep_apart({{"scenario", flags.scenario}}, {{"-o", flags.output.file}});
  if (!flags.run.empty()) return load_run(flags, command);
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
    return std::any_of(result.violations.begin(), result.violations.end(),
                       [&](const Violation& b) { return b.rule == v.rule; });
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
