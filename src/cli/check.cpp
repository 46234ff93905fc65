// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/help.hpp"
#include "cli/neighbours.hpp"
#include "cli/one_layout.hpp"

namespace shardfit::cli {
namespace {

int run_check(const OneLayoutFlags& flags, Context& context) {
  Output output(flags.output);
  const OneLayout one = load_one_layout(flags, "check");
  CheckResult result = check_rules(one.scenario.job, one.layout);
  if (result.violations.empty()) {
    const Estimator estimator(one.scenario.job);
    result.estimate = estimator.evaluate(one.layout);
    if (!result.estimate->verdict.fits) result.change = best_single_change(one.scenario, estimator, *result.estimate);
  }
  output.write(check_document(one.scenario, result), context);
  return result.ok() ? kDone : kDoesNotFit;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  auto flags = std::make_shared<OneLayoutFlags>();
  CLI::App* command = app.add_subcommand("check", "Does one layout pass the rules and fit? Exit code 0 yes, 1 no");
  command->footer(
      examples("shardfit check scenarios/llama-3-70b-gb200.json --tp 2 --pp 4\n"
               "shardfit check scenarios/qwen3-vl-235b-gb200.json --layout ID --micro-batch-size 2 && sbatch train.sh"));
  add_one_layout_flags(*command, *flags);
  command->callback([flags, &action] { action = [flags](Context& context) { return run_check(*flags, context); }; });
}

}  // namespace shardfit::cli
