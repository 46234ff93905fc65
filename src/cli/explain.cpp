// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/help.hpp"
#include "cli/neighbours.hpp"
#include "cli/one_layout.hpp"
#include "report/summary.hpp"

namespace shardfit::cli {
namespace {

struct Flags {
  OneLayoutFlags one;
  ExplainParts parts;
};

int run_explain(const Flags& flags, Context& context) {
  Output output(flags.one.output);
  const OneLayout one = load_one_layout(flags.one, "explain");
  const CheckResult check = check_rules(one.scenario.job, one.layout);
  if (!check.violations.empty()) {
    output.write(check_document(one.scenario, check), context);
    return kDoesNotFit;
  }
  const Estimator estimator(one.scenario.job);
  const Estimate estimate = estimator.evaluate(one.layout);
  std::vector<Change> savings;
  if (flags.parts.memory) savings = largest_memory_savings(one.scenario, estimator, estimate);
  // Only a reader of times asks what would change them.
  const bool all = !flags.parts.memory && !flags.parts.traffic && !flags.parts.modules && !flags.parts.timeline;
  std::optional<Change> change;
  if (flags.parts.time || all) change = best_single_change(one.scenario, estimator, estimate);
  Document document = explain_document(one.scenario, estimate, flags.parts, savings);
  if (change) {
    document.sections.push_back(report::change_section(estimate, *change));
    document.summary = report::estimate_summary(estimate, change);
  }
  output.write(document, context);
  return kDone;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("explain", "Each term of one layout: formula, source, what it leaves out");
  command->footer(
      examples("shardfit explain scenarios/qwen3-vl-235b-gb200.json --layout ID            (from a sweep's CSV)\n"
               "shardfit explain scenarios/llama-3-70b-gb200.json --tp 2 --pp 4 --memory\n"
               "shardfit explain scenarios/llama-3-70b-gb200.json --tp 2 --pp 4 --timeline\n"
               "shardfit explain scenarios/llama-3-70b-gb200.json --tp 2 --pp 4 --section tensors --format csv"));
  add_one_layout_flags(*command, flags->one);
  command->add_flag("--memory", flags->parts.memory,
                    "Memory terms, kept tensors, every stage and moment, and what would lower the peak");
  command->add_flag("--time", flags->parts.time,
                    "Time terms and stages, the bottleneck, and the single change most worth trying");
  command->add_flag("--timeline", flags->parts.timeline,
                    "The pipeline's passes, a line a stage, as a replay of the schedule has them");
  command->add_flag("--traffic", flags->parts.traffic, "Collectives");
  command->add_flag("--modules", flags->parts.modules, "Parts of the model");
  command->callback([flags, &action] { action = [flags](Context& context) { return run_explain(*flags, context); }; });
}

}  // namespace shardfit::cli
