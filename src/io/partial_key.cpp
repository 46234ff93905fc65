// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "io/data_dir.hpp"
#include "io/fingerprint.hpp"
#include "io/load.hpp"
#include "io/partial_file.hpp"
#include "search/space.hpp"

namespace shardfit::io {
namespace {

void add_file(const std::string& path, Fingerprint& print) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  print.add(text.str());
}

/// Files that the scenario names by path.
void add_named_files(const Json& json, Fingerprint& print) {
  if (json.is_string()) {
    const std::string& text = json.get_ref<const std::string&>();
    std::error_code ignored;
    if (is_path(text) && std::filesystem::is_regular_file(text, ignored)) add_file(text, print);
  }
  if (json.is_structured())
    for (const auto& item : json) add_named_files(item, print);
}

std::string data_print(const StudyFile& file) {
  Fingerprint print;
  for (const char* folder : {"models", "hardware", "stacks", "workloads"})
    for (const std::string& name : list_folder(folder)) {
      print.add(name);
      add_file(data_dir() + "/" + folder + "/" + name + ".json", print);
    }
  add_named_files(parse_json(file.text, file.file), print);
  for (const Scenario& s : file.scenarios)
    if (is_path(s.job.hardware.source_file)) add_file(s.job.hardware.source_file, print);
  return print.text();
}

/// Every value of every axis, by the id of a layout that has it: flags have narrowed what the file says.
void add_space(const Scenario& scenario, Fingerprint& print) {
  const search::Digits radix = search::radices(scenario.space);
  for (std::size_t i = 0; i < search::kAxes; ++i) {
    const LayoutAxis axis = LayoutAxis(i);
    print.add(name_of(axis));
    for (std::uint32_t digit = 0; digit < radix[axis]; ++digit) {
      Layout layout = scenario.base;
      search::apply_digit(scenario, axis, digit, layout);
      print.add(layout_id(layout));
    }
  }
}

void add_figures(const PerHardware& figures, Fingerprint& print) {
  for (const auto& [name, value] : figures) print.add(fmt::format("{}={}", name, value));
  print.add("");
}

void add_goals(const Study& study, Fingerprint& print) {
  const Goals& g = study.goals();
  print.add(name_of(g.objective));
  for (Metric m : front_metrics(study)) print.add(name_of(m));
  print.add(fmt::format("{}", g.train_tokens.value_or(0)));
  add_figures(g.usd_per_gpu_hour, print);
  add_figures(g.watts_per_gpu, print);
  print.add(g.base ? layout_id(*g.base) : "");
  print.add(fmt::format("{} {} {}", g.limits.memory_headroom, g.limits.host_memory_gib, g.limits.gpus));
}

}  // namespace

PartialKey partial_key(const StudyFile& file, const Study& study, const std::string& program_version, int kept) {
  Fingerprint scenario;
  scenario.add(file.text);
  scenario.add(fmt::format("{}", kept));
  for (const StudyJob& job : study.jobs()) {
    const Job& j = job.scenario->job;
    scenario.add(fmt::format("{} {} {}", j.hardware.name, j.gpus, name_of(j.training.precision)));
    add_space(*job.scenario, scenario);
  }
  add_goals(study, scenario);
  return {fmt::format("shardfit {} (cost model {})", program_version, kCostModelVersion), scenario.text(), data_print(file)};
}

}  // namespace shardfit::io
