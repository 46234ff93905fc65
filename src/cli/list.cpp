// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/help.hpp"
#include "cli/output.hpp"
#include "io/words.hpp"
#include "io/load.hpp"
#include "io/recipes.hpp"
#include "report/coefficients_view.hpp"
#include "report/list_view.hpp"
#include "shardfit/layout/rules.hpp"

namespace shardfit::cli {
namespace {

constexpr const char* kMarkdown = "markdown";  // how docs/rules.md is made

struct Flags {
  std::string what;
  OutputFlags output;
};

template <class Load>
auto loaded(const std::vector<std::string>& names, Load load) {
  std::vector<decltype(load(names.front()))> all;
  for (const std::string& name : names) all.push_back(load(name));
  return all;
}

std::vector<WorkloadListing> workloads() {
  std::vector<WorkloadListing> all;
  for (const std::string& name : io::list_workloads()) {
    const io::NamedWorkload w = io::load_workload(name);
    all.push_back({name, w.workload.mock ? 0 : w.workload.images_per_sample, w.description, w.source});
  }
  return all;
}

std::vector<RecipeListing> recipe_settings() {
  std::vector<RecipeListing> all;
  for (const io::RecipeSetting& s : io::load_recipes())
    all.push_back({s.file, fmt::format("{}", fmt::join(s.models, ", ")), fmt::format("{}", fmt::join(s.hardware, ", ")),
                   s.precision, fmt::format("{}", fmt::join(s.gpus, ", ")), io::where_text(s), s.from, s.to,
                   io::settings_text(s), s.source});
  return all;
}

Document listing(const std::string& what) {
  if (what == "models") return models_document(loaded(io::list_models(), io::load_model));
  if (what == "hardware") return hardware_document(loaded(io::list_hardware(), io::load_hardware));
  if (what == "stacks") return stacks_document(loaded(io::list_stacks(), io::load_stack));
  if (what == "workloads") return workloads_document(workloads());
  if (what == "recipes") return recipes_document(recipe_settings());
  if (what == "scenarios") return scenarios_document(io::list_scenarios());
  if (what == "rules") return rules_document();
  if (what == "terms") return terms_document();
  if (what == "coefficients")
    return coefficients_document(io::load_coefficients(), loaded(io::list_hardware(), io::load_hardware));
  io::unknown_word("list", what,
                   {"models", "hardware", "stacks", "workloads", "recipes", "scenarios", "rules", "terms", "coefficients"});
}

int run_list(const Flags& flags, Context& context) {
  Output output(flags.output);
  if (flags.output.format == kMarkdown) {
    if (flags.what != "rules")
      throw InputError("", "--format", "'markdown' for " + flags.what, "table, csv or json", "markdown is for `list rules`");
    output.write_text(rules_markdown(), context);
  } else {
    output.write(listing(flags.what), context);
  }
  return kDone;
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand(
      "list", "What ships: models, hardware, stacks, workloads, recipes, scenarios, rules, terms, coefficients");
  command->footer(
      examples("shardfit list models\n"
               "shardfit list rules --format csv\n"
               "shardfit list terms\n"
               "shardfit list coefficients --section shared"));
  command
      ->add_option("what", flags->what, "models, hardware, stacks, workloads, recipes, scenarios, rules, terms or coefficients")
      ->required()
      ->type_name("WHAT");
  add_output_flags(*command, flags->output, {kMarkdown});
  command->callback([flags, &action] { action = [flags](Context& context) { return run_list(*flags, context); }; });
}

}  // namespace shardfit::cli
