// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/context.hpp"
#include "cli/help.hpp"
#include "cli/output_paths.hpp"
#include "cli/sweep_flags.hpp"

namespace shardfit::cli {
namespace {

struct Flags : SweepFlags {
  std::vector<std::string> parts;
};

int run_merge(const Flags& flags, Context& context) {
  std::vector<NamedPath> read{{"scenario", flags.scenario}};
  for (const std::string& path : flags.parts) read.push_back({"a part", path});
  keep_apart(read, {{"-o", flags.output.file}, {"--pareto-csv", flags.pareto_csv}, {"--top-csv", flags.top_csv}});
  ResultFiles files(flags);
  const KeyedStudy keyed(flags);
  files.check_sections(keyed.study());
  const io::PartialKey key = keyed.key();
  std::vector<PartialSweep> parts;
  for (const std::string& path : flags.parts) parts.push_back(io::load_partial(path, key));
  const SweepOptions options = result_options(flags);
  PartialSweep whole = merged(std::move(parts), keyed.study(), options);
  const SweepResult result = result_with_nearest(keyed.study(), options, std::move(whole));
  files.write(keyed.study(), result, context);
  return exit_code(result);
}

}  // namespace

void add_merge(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("merge", "One result from the shards of a sweep, as if it had been one");
  command->footer(
      examples("shardfit sweep scenarios/deepseek-v3-gb200.json --shard 0/2 --resume part0.json   # on one machine\n"
               "shardfit sweep scenarios/deepseek-v3-gb200.json --shard 1/2 --resume part1.json   # on another\n"
               "shardfit merge scenarios/deepseek-v3-gb200.json part0.json part1.json"));
  add_sweep_flags(*command, *flags);
  command->add_option("parts", flags->parts, "Files that sweep --shard --resume has written")->required()->type_name("PART...");
  command->callback([flags, &action] { action = [flags](Context& context) { return run_merge(*flags, context); }; });
}

}  // namespace shardfit::cli
