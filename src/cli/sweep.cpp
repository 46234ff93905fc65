// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <ostream>

#include "cli/context.hpp"
#include "cli/help.hpp"
#include "cli/job_flags.hpp"
#include "cli/loaded_study.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "shardfit/report/views.hpp"
#include "shardfit/search/partial.hpp"

namespace shardfit::cli {
namespace {

struct Flags {
  std::string scenario, all_csv, pareto_csv, top_csv;
  int top = 20, threads = 0, sensitivity = 1;
  bool no_prune = false;
  io::JobChoice job;
  LayoutChoice layout;
  GoalFlags goals;
  OutputFlags output;
};

/// A CSV of candidates that was asked for by name: opened at once, written at the end.
class CandidateFile {
 public:
  explicit CandidateFile(const std::string& path) {
    if (!path.empty()) file_.emplace(path);
  }
  template <class C>
  void write(const Study& study, const std::vector<C>& candidates) {
    if (!file_) return;
    write_candidates_csv(study, std::span<const C>(candidates), file_->stream());
    file_->commit();
  }

 private:
  std::optional<AtomicFile> file_;
};

SweepOptions options_of(const Flags& flags, const Context& context) {
  SweepOptions options;
  options.threads = flags.threads;
  options.top = flags.top;
  options.winners = flags.sensitivity;
  options.prune = !flags.no_prune;
  options.keep_all = !flags.all_csv.empty();
  options.interrupted = [&context] { return context.stopped(); };
  return options;
}

SweepResult run_search(const Study& study, SweepOptions options, Context& context) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  Progress progress(context.err, context.live);
  options.progress = [&](const SweepProgress& now) {
    progress.show(now, std::chrono::duration<double>(Clock::now() - start).count());
  };
  SweepResult result = sweep(study, options);
  progress.finish();
  return result;
}

int run_sweep(const Flags& flags, Context& context) {
  // Files first: a path that cannot be written should not cost a sweep.
  Output output(flags.output);
  CandidateFile all(flags.all_csv), pareto(flags.pareto_csv), top(flags.top_csv);
  const LoadedStudy loaded(io::load_study(flags.scenario, flags.job), flags.layout, flags.goals);
  const Study& study = loaded.study();
  const SweepOptions options = options_of(flags, context);
  const SweepResult result = run_search(study, options, context);
  all.write(study, result.all);
  pareto.write(study, result.pareto);
  top.write(study, result.top);
  output.write(sweep_document(study, result), context);
  return result.complete ? kDone : kInterrupted;
}

}  // namespace

void add_sweep(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("sweep", "Rank every layout of a scenario's search; Pareto front; refusals by reason");
  command->footer(examples(
      "shardfit sweep scenarios/qwen3-vl-235b-gb200.json\n"
      "shardfit sweep scenarios/qwen3-vl-235b-gb200.json --csv all.csv --pareto-csv front.csv\n"
      "shardfit sweep scenarios/qwen3-vl-235b-gb200.json --tp 1,2,4 --recompute none,full --top 5 --format json\n"
      "shardfit sweep scenarios/llama-3-70b-gb200.json --gpus 64,128,256 --hardware gb200-nvl72,b200-hgx --objective cost --usd-per-gpu-hour gb200-nvl72=5,b200-hgx=4"));
  command->add_option("scenario", flags->scenario, "Scenario file, or the name of one that ships")->required()->type_name("FILE");
  command->add_option("--csv", flags->all_csv, "Write every allowed layout to FILE")->type_name("FILE");
  command->add_option("--pareto-csv", flags->pareto_csv, "Write the Pareto front to FILE")->type_name("FILE");
  command->add_option("--top-csv", flags->top_csv, "Write the best layouts to FILE")->type_name("FILE");
  command->add_option("--top", flags->top, "Layouts to show")->check(CLI::Range(1, 1'000'000))->type_name("N")->capture_default_str();
  command->add_option("--sensitivity", flags->sensitivity, "Best layouts whose neighbours are shown")
      ->check(CLI::Range(0, 1'000'000))->type_name("N")->capture_default_str();
  command->add_option("--threads", flags->threads, "Threads (0: all)")->check(CLI::Range(0, 4096))->type_name("N")->capture_default_str();
  command->add_flag("--no-prune", flags->no_prune, "Look at every combination by itself: the same result, slowly");
  add_output_flags(*command, flags->output);
  add_goal_flags(*command, flags->goals);
  add_job_flags(*command, flags->job, true);
  add_layout_flags(*command, flags->layout, false);
  command->callback([flags, &action] { action = [flags](Context& context) { return run_sweep(*flags, context); }; });
}

}  // namespace shardfit::cli
