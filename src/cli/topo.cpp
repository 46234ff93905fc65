// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "cli/help.hpp"
#include "cli/one_layout.hpp"
#include "io/words.hpp"
#include "io/load.hpp"
#include "io/read_run.hpp"
#include "report/topo_view.hpp"
#include "shardfit/base/names.hpp"
#include "shardfit/spec/model_dims.hpp"

namespace shardfit::cli {
namespace {

struct Flags {
  std::string what;
  int gpus = 0, per_domain = 0, spare_nodes = -1;  ///< as the hardware file says
  int failed_planes = -1;
  double oversubscription = 0;
  int units_per_pod = 0;
  double core_oversubscription = 1;
  bool planes = false;
  LayoutChoice choice;
  OutputFlags output;
};

bool names_hardware(const std::string& what) {
  const std::vector<std::string> names = io::list_hardware();
  return std::find(names.begin(), names.end(), what) != names.end();
}

/// A bare name may be a scenario's or a cluster's; what is neither is told with both in mind.
void refuse_unknown_name(const std::string& what) {
  if (what.ends_with(".json")) return;
  std::vector<std::string> known = io::list_scenarios();
  if (std::find(known.begin(), known.end(), what) != known.end()) return;
  for (const std::string& name : io::list_hardware()) known.push_back(name);
  const auto near = nearest_name(what, std::vector<std::string_view>(known.begin(), known.end()));
  throw InputError("", "topo", "'" + what + "'", "a name in hardware/ or scenarios/, or a path that ends in .json",
                   near ? "did you mean \"" + *near + "\"?" : "");
}

/// A hardware file has a "gpu" and a scenario none. Both are JSON objects, so the path alone cannot tell; the folder can.
bool is_hardware_path(const std::string& what) { return std::filesystem::path(what).parent_path().filename() == "hardware"; }

std::optional<PlacedGroups> groups_of(const Scenario& scenario, const LayoutChoice& choice, int gpus) {
  if (space_size(scenario.space) != 1 && !choice.any()) return std::nullopt;
  PlacedGroups groups;
  groups.layout = choose_layout(scenario, choice, "topo", scenario.file).layout;
  Job job = scenario.job;
  job.gpus = gpus;
  if (const auto violation = first_violation(job, groups.layout))
    throw InputError(scenario.file, "layout", violation_text(*violation), "a layout that the rules allow",
                     cure_text(nearest_cure(job, groups.layout, *violation)));
  groups.grid = grid_sizes(groups.layout, gpus, job.training.global_batch_size);
  groups.shapes = group_shapes(groups.layout, groups.grid);
  groups.has_experts = has_moe(job.model.text);
  return groups;
}

void change_fabric(const Flags& flags, HardwareSpec& hardware) {
  FabricSpec& fabric = hardware.fabric;
  const auto at_most = [](const char* flag, int got, int most, const char* of) {
    if (got > most) throw InputError("", flag, std::to_string(got), "at most " + std::to_string(most) + ", " + of);
  };
  at_most("--per-domain", flags.per_domain, fabric.nvlink_domain_gpus, "the GPUs of an NVLink domain");
  at_most("--spare-nodes", flags.spare_nodes, fabric.nodes_per_leaf_group - 1, "one node less than a scalable unit has");
  if (flags.failed_planes > 0)
    at_most("--failed-planes", flags.failed_planes, int(std::max(std::size_t(1), fabric.nvswitch.links.size())) - 1,
            "one less than the planes of a domain");
  if (flags.failed_planes >= 0) fabric.nvswitch.failed = flags.failed_planes;
  if (flags.units_per_pod > 0) {
    if (fabric.core.units_per_pod == 0) fabric.core.switches = fabric.spines;
    fabric.core.units_per_pod = flags.units_per_pod;
    fabric.core.oversubscription = {flags.core_oversubscription, FigureKind::assumed, "--core-oversubscription"};
  }
  if (flags.per_domain > 0) fabric.placed_per_domain = flags.per_domain;
  if (flags.spare_nodes >= 0) fabric.spare_nodes_per_leaf_group = flags.spare_nodes;
  if (flags.oversubscription > 0) fabric.oversubscription = {flags.oversubscription, FigureKind::assumed, "--oversubscription"};
}

int run_topo(const Flags& flags, Context& context) {
  Output output(flags.output);
  HardwareSpec hardware;
  std::optional<PlacedGroups> groups;
  int gpus = flags.gpus;
  if (names_hardware(flags.what) || is_hardware_path(flags.what)) {
    hardware = io::load_hardware(flags.what);
    if (gpus == 0) gpus = hardware.fabric.nvlink_domain_gpus;
    if (flags.choice.any())
      throw InputError("", flags.what, "a layout for bare hardware", "a scenario, whose batch and model a layout belongs to");
  } else {
    refuse_unknown_name(flags.what);
    const Scenario scenario = io::load_scenario(flags.what);
    hardware = scenario.job.hardware;
    if (gpus == 0) gpus = scenario.job.gpus;
    groups = groups_of(scenario, flags.choice, gpus);
  }
  change_fabric(flags, hardware);
  const topology::Cluster cluster(hardware, gpus);
  if (flags.output.format == "dot") {
    std::ostringstream text;
    const topology::GraphParts parts = cluster.parts();
    write_dot(flags.planes ? parts : with_planes_folded(parts), hardware.name, text);
    output.write_text(text.str(), context);
  } else {
    output.write(topo_document(hardware, cluster, groups), context);
  }
  return kDone;
}

}  // namespace

void add_topo(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("topo", "A cluster's graph, and what a layout's groups see of it");
  command->footer(
      examples("shardfit topo gb200-nvl72 --gpus 128\n"
               "shardfit topo scenarios/qwen3-vl-235b-gb200.json --tp 2 --pp 4 --ep 8\n"
               "shardfit topo b200-hgx --gpus 1024 --oversubscription 2 --spare-nodes 1\n"
               "shardfit topo b200-hgx --gpus 8192 --units-per-pod 16 --core-oversubscription 2\n"
               "shardfit topo gb200-nvl72 --failed-planes 2\n"
               "shardfit topo b200-hgx --gpus 16 --format dot | dot -Tsvg > cluster.svg"));
  command->add_option("what", flags->what, "Scenario file, hardware file (hardware/NAME.json) or hardware name")
      ->required()
      ->type_name("SCENARIO|HARDWARE");
  command->add_option("--gpus", flags->gpus, "GPUs (default: the scenario's, or one NVLink domain)")
      ->check(CLI::Range(1, io::kMostGpus))
      ->type_name("N");
  command->add_option("--per-domain", flags->per_domain, "GPUs used of each NVLink domain (64 of 72)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command->add_option("--spare-nodes", flags->spare_nodes, "Nodes of each scalable unit without ranks")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  command->add_option("--oversubscription", flags->oversubscription, "Downlinks over uplinks of a leaf switch")
      ->check(CLI::PositiveNumber)
      ->type_name("X");
  command->add_option("--units-per-pod", flags->units_per_pod, "Scalable units whose spines meet the others' in core switches")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command->add_option("--core-oversubscription", flags->core_oversubscription, "Downlinks over uplinks of a spine switch")
      ->check(CLI::PositiveNumber)
      ->needs("--units-per-pod")
      ->type_name("X");
  command->add_option("--failed-planes", flags->failed_planes, "NVSwitch planes of each domain out of service")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  command->add_flag("--planes", flags->planes, "Draw every NVSwitch plane (dot)");
  add_output_flags(*command, flags->output, {"dot"});
  add_layout_flags(*command, flags->choice, true);
  command->callback([flags, &action] { action = [flags](Context& context) { return run_topo(*flags, context); }; });
}

}  // namespace shardfit::cli
