// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>

#include "cli/context.hpp"
#include "cli/help.hpp"
#include "cli/job_flags.hpp"
#include "cli/layout_flags.hpp"
#include "cli/output.hpp"
#include "cli/output_paths.hpp"
#include "cli/progress.hpp"
#include "shardfit/report/compare_view.hpp"

namespace shardfit::cli {
namespace {

struct Flags {
  std::string scenario;
  io::JobChoice job;
  double max_p_oom = CompareOptions{}.max_p_oom;
  int threads = 0;
  LayoutChoice choice;
  OutputFlags output;
};

int run_compare(const Flags& flags, Context& context) {
  using Clock = std::chrono::steady_clock;
  keep_apart({{"scenario", flags.scenario}}, {{"-o", flags.output.file}});
  Output output(flags.output);
  io::StudyFile file = io::load_study(flags.scenario, flags.job);
  const Goals goals = file.goals;
  Scenario scenario = limited(narrowed(io::first_job(std::move(file)), flags.choice), goals.limits);
  if (goals.objective != Goals{}.objective || !goals.pareto.empty())
    scenario.assumptions.push_back(
        "families are compared by tokens/s a GPU, whatever goals.objective and goals.pareto ask of a sweep");
  only_sections(compare_document(scenario, {}), flags.output.sections);  // a slip costs no search
  const Clock::time_point start = Clock::now();
  Progress progress(context.err, context.live);
  CompareOptions options;
  options.threads = flags.threads;
  options.max_p_oom = flags.max_p_oom;
  options.limits = goals.limits;
  options.progress = [&](const SweepProgress& now) {
    progress.show(now, std::chrono::duration<double>(Clock::now() - start).count());
  };
  options.interrupted = [&] { return context.stopped(); };
  const Comparison comparison = compare(scenario, Estimator(scenario.job), options);
  progress.finish();
  output.write(compare_document(scenario, comparison), context);
  if (!comparison.complete) return kInterrupted;
  return comparison.start ? kDone : kDoesNotFit;
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("compare", "The best FSDP and the best 3D layout side by side; which to start with");
  command->footer(
      examples("shardfit compare scenarios/qwen3-vl-235b-gb200.json\n"
               "shardfit compare scenarios/qwen3-vl-235b-b200.json --ep 8,16 --section layouts,effort\n"
               "shardfit compare scenarios/qwen3.5-35b-a3b-gb200.json --max-p-oom 0.01 --format json"));
  command->add_option("scenario", flags->scenario, "Scenario file, or the name of one that ships")
      ->required()
      ->type_name("FILE");
  command->add_option("--max-p-oom", flags->max_p_oom, "Chance of running out of memory that a layout may have")
      ->check(CLI::Range(0.0, 1.0))
      ->type_name("P")
      ->capture_default_str();
  command->add_option("--threads", flags->threads, "Threads (0: all)")
      ->check(CLI::Range(0, 4096))
      ->type_name("N")
      ->capture_default_str();
  add_output_flags(*command, flags->output);
  add_job_flags(*command, flags->job, false);
  add_layout_flags(*command, flags->choice, false);
  command->callback([flags, &action] { action = [flags](Context& context) { return run_compare(*flags, context); }; });
}

}  // namespace shardfit::cli
