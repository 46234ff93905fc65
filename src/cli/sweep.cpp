// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <ostream>

#include "cli/context.hpp"
#include "cli/help.hpp"
#include "cli/layout_flags.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "io/load.hpp"
#include "shardfit/report/views.hpp"

namespace shardfit::cli {
namespace {

struct Flags {
  std::string scenario, all_csv, pareto_csv;
  int top = 20, threads = 0;
  bool no_prune = false;
  LayoutChoice choice;
  OutputFlags output;
};

/// A CSV of candidates that was asked for by name: opened at once, written at the end.
class CandidateFile {
 public:
  explicit CandidateFile(const std::string& path) {
    if (!path.empty()) file_.emplace(path);
  }
  void write(const Scenario& scenario, std::span<const Candidate> candidates) {
    if (!file_) return;
    write_candidates_csv(scenario, candidates, file_->stream());
    file_->commit();
  }

 private:
  std::optional<AtomicFile> file_;
};

SweepResult run_search(const Scenario& scenario, const Flags& flags, Context& context) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  Progress progress(context.err, context.live);
  SweepOptions options;
  options.threads = flags.threads;
  options.top = flags.top;
  options.prune = !flags.no_prune;
  options.keep_all = !flags.all_csv.empty();
  options.progress = [&](const SweepProgress& now) {
    progress.show(now, std::chrono::duration<double>(Clock::now() - start).count());
  };
  options.interrupted = [&] { return context.stopped(); };
  const Estimator estimator(scenario.job);
  SweepResult result = sweep(scenario, estimator, options);
  progress.finish();
  return result;
}

int run_sweep(const Flags& flags, Context& context) {
  // Files first: a path that cannot be written should not cost a sweep.
  Output output(flags.output);
  CandidateFile all(flags.all_csv), pareto(flags.pareto_csv);
  const Scenario scenario = narrowed(io::load_scenario(flags.scenario), flags.choice);
  const SweepResult result = run_search(scenario, flags, context);
  all.write(scenario, result.all);
  pareto.write(scenario, result.pareto);
  output.write(sweep_document(scenario, result), context);
  return result.complete ? kDone : kInterrupted;
}

}  // namespace

void add_sweep(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("sweep", "Rank every layout of a scenario's search; Pareto front; refusals by reason");
  command->footer(examples(
      "shardfit sweep scenarios/qwen3-vl-235b-gb200.json\n"
      "shardfit sweep scenarios/qwen3-vl-235b-gb200.json --csv all.csv --pareto front.csv\n"
      "shardfit sweep scenarios/qwen3-vl-235b-gb200.json --tp 1,2,4 --recompute none,full --top 5 --format json"));
  command->add_option("scenario", flags->scenario, "Scenario file, or the name of one that ships")->required()->type_name("FILE");
  command->add_option("--csv", flags->all_csv, "Write every allowed layout to FILE")->type_name("FILE");
  command->add_option("--pareto", flags->pareto_csv, "Write the Pareto front to FILE")->type_name("FILE");
  command->add_option("--top", flags->top, "Layouts to show")->check(CLI::Range(1, 1'000'000))->type_name("N")->capture_default_str();
  command->add_option("--threads", flags->threads, "Threads (0: all)")->check(CLI::Range(0, 4096))->type_name("N")->capture_default_str();
  command->add_flag("--no-prune", flags->no_prune, "Look at every combination by itself: the same result, slowly");
  add_output_flags(*command, flags->output);
  add_layout_flags(*command, flags->choice, false);
  command->callback([flags, &action] { action = [flags](Context& context) { return run_sweep(*flags, context); }; });
}

}  // namespace shardfit::cli
