// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/help.hpp"
#include "cli/neighbours.hpp"
#include "cli/one_layout.hpp"

namespace shardfit::cli {
namespace {

int run_estimate(const OneLayoutFlags& flags, Context& context) {
  Output output(flags.output);
  const OneLayout one = load_one_layout(flags, "estimate");
  CheckResult check = check_rules(one.scenario.job, one.layout);
  if (!check.violations.empty()) {
    // No numbers exist of a layout that cannot run: say why instead.
    output.write(check_document(one.scenario, check), context);
    return kDoesNotFit;
  }
  const Estimator estimator(one.scenario.job);
  const Estimate estimate = estimator.evaluate(one.layout);
  output.write(estimate_document(one.scenario, estimate, best_single_change(one.scenario, estimator, estimate)), context);
  return kDone;
}

}  // namespace

void add_estimate(CLI::App& app, Action& action) {
  auto flags = std::make_shared<OneLayoutFlags>();
  CLI::App* command = app.add_subcommand("estimate", "Memory, traffic and step time of one layout");
  command->footer(
      examples("shardfit estimate scenarios/llama-3-70b-gb200.json --tp 2 --pp 4\n"
               "shardfit estimate scenarios/qwen3-vl-235b-gb200.json --layout ID            (from a sweep's CSV)\n"
               "shardfit estimate scenarios/qwen3-vl-235b-gb200.json --layout ID --recompute selective:moe_act -o est.json"));
  add_one_layout_flags(*command, *flags);
  command->callback([flags, &action] { action = [flags](Context& context) { return run_estimate(*flags, context); }; });
}

}  // namespace shardfit::cli
