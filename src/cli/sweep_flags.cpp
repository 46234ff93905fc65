// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep_flags.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/help.hpp"
#include "cli/job_flags.hpp"
#include "cli/version.hpp"

namespace shardfit::cli {
namespace {

void open(std::optional<AtomicFile>& file, const std::string& path) {
  if (!path.empty()) file.emplace(path);
}

}  // namespace

void add_sweep_flags(CLI::App& command, SweepFlags& flags) {
  command.add_option("scenario", flags.scenario, "Scenario file, or the name of one that ships")->required()->type_name("FILE");
  command.add_option("--pareto-csv", flags.pareto_csv, "Write the Pareto front to FILE")->type_name("FILE")->check(some_text());
  command.add_option("--top-csv", flags.top_csv, "Write the best layouts to FILE")->type_name("FILE")->check(some_text());
  command.add_option("--top", flags.top, "Layouts to show")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--sensitivity", flags.sensitivity, "Best layouts whose neighbours are shown")
      ->check(CLI::Range(0, 1'000'000))
      ->type_name("N")
      ->capture_default_str();
  add_output_flags(command, flags.output);
  add_goal_flags(command, flags.goals);
  add_job_flags(command, flags.job, true);
  add_layout_flags(command, flags.layout, false);
}

SweepOptions result_options(const SweepFlags& flags) {
  SweepOptions options;
  options.top = flags.top;
  options.winners = flags.sensitivity;
  return options;
}

SweepResult result_with_nearest(const Study& study, const SweepOptions& options, PartialSweep&& part) {
  SweepResult result = result_of(study, options, std::move(part));
  if (result.complete && result.fit == 0 && result.valid > 0) result.nearest = nearest_to_fitting(study, options);
  return result;
}

int exit_code(const SweepResult& result) {
  if (!result.complete) return kInterrupted;
  return result.top.empty() ? kDoesNotFit : kDone;
}

KeyedStudy::KeyedStudy(const SweepFlags& flags)
    : file(io::load_study(flags.scenario, flags.job)),
      loaded(file, flags.layout, flags.goals),
      kept(std::max(flags.top, SweepOptions{}.ties)) {}

io::PartialKey KeyedStudy::key() const { return io::partial_key(file, study(), kVersion, kept); }

ResultFiles::ResultFiles(const SweepFlags& flags) : output_flags_(flags.output), output_(flags.output) {
  open(pareto_, flags.pareto_csv);
  open(top_, flags.top_csv);
}

void ResultFiles::check_sections(const Study& study) const {
  only_sections(sweep_document(study, SweepResult{}), output_flags_.sections);
}

void ResultFiles::write(const Study& study, const SweepResult& result, Context& context) {
  const auto write_csv = [&](std::optional<AtomicFile>& file, const std::vector<Judged>& candidates) {
    if (!file || !result.complete) return;
    write_candidates_csv(study, candidates, file->stream());
    file->commit();
  };
  write_csv(pareto_, result.pareto);
  write_csv(top_, result.top);
  if (!result.complete && (pareto_ || top_)) context.err << "shardfit: interrupted: CSV files are not written\n";
  output_.write(sweep_document(study, result), context);
}

}  // namespace shardfit::cli
