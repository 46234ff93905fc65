// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/cli.hpp"
#include "cli/version.hpp"

// What the program prints, held against files: tests/golden/expected/<name>.txt has the command, stdout, stderr and the
// exit code. Cases are added, not changed. After a change that is meant: SHARDFIT_UPDATE_GOLDEN=1 ctest -R golden, then
// read the difference and note moved numbers in CHANGELOG.md.

namespace {

const std::string kSource = SHARDFIT_SOURCE_DIR;

struct Case {
  const char* name;
  std::vector<std::string> args;
};

/// `@` stands for the source tree, so that expected files name no machine.
const std::vector<Case> kCases = {
    {"version", {"--version"}},
    {"help", {"--help"}},
    {"help_sweep", {"sweep", "--help"}},
    {"help_merge", {"merge", "--help"}},
    {"help_compare", {"compare", "--help"}},
    {"help_estimate", {"estimate", "--help"}},
    {"help_check", {"check", "--help"}},
    {"help_explain", {"explain", "--help"}},
    {"help_topo", {"topo", "--help"}},
    {"help_list", {"list", "--help"}},
    {"list_hardware", {"list", "hardware"}},
    {"list_hardware_csv", {"list", "hardware", "--format", "csv"}},
    {"list_stacks_json", {"list", "stacks", "--format", "json"}},
    {"list_models_csv", {"list", "models", "--format", "csv"}},
    {"list_workloads", {"list", "workloads"}},
    {"error_set", {"check", "@/tests/data/small-sweep.json", "--set", "training.visoin=coco-captions"}},
    {"error_set_form", {"check", "@/tests/data/small-sweep.json", "--set", "training.vision"}},
    {"error_workload",
     {"estimate", "@/scenarios/qwen3-vl-235b-gb200.json", "--ep", "8", "--set", "training.vision=coco-caption"}},
    {"list_scenarios", {"list", "scenarios"}},
    {"error_no_command", {}},
    {"error_unknown_command", {"swep"}},
    {"error_unknown_flag", {"sweep", "@/tests/data/small-sweep.json", "--treads", "2"}},
    {"error_unknown_format", {"list", "models", "--format", "yaml"}},
    {"error_unknown_list", {"list", "model"}},
    {"error_unknown_section", {"list", "models", "--section", "modls"}},
    {"error_missing_file", {"sweep", "@/no-such-file.json"}},
    {"error_top_out_of_range", {"sweep", "@/tests/data/small-sweep.json", "--top", "0"}},
    {"error_open_search", {"check", "@/tests/data/small-sweep.json"}},
    {"error_recompute_word", {"check", "@/tests/data/small-sweep.json", "--recompute", "selective:moe_akt"}},
    {"error_layout_id", {"check", "@/tests/data/small-sweep.json", "--layout", "tp2-nonsense"}},
    {"error_unwritable", {"list", "models", "-o", "/no-such-folder/x.json"}},
    {"check_violations", {"check", "@/tests/data/small-sweep.json", "--tp", "3", "--ep", "8"}},
    {"check_violations_json", {"check", "@/tests/data/small-sweep.json", "--tp", "3", "--ep", "8", "--format", "json"}},
    {"check_fits", {"check", "@/tests/data/small-sweep.json", "--tp", "2", "--ep", "8", "--recompute", "full"}},
    {"check_does_not_fit", {"check", "@/tests/data/small-sweep.json", "--tp", "1", "--ep", "1"}},
    {"topo_dot", {"topo", "h100-hgx", "--gpus", "2", "--format", "dot"}},
    {"topo_groups_csv",
     {"topo", "@/tests/data/small-sweep.json", "--tp", "2", "--ep", "8", "--format", "csv", "--section", "groups"}},
    {"compare",
     {"compare", "@/scenarios/qwen3-vl-235b-gb200.json", "--tp", "1,2", "--cp", "1", "--pp", "1,2", "--ep", "8,64", "--etp",
      "1", "--dispatcher", "hybridep", "--expert-overlap", "false"}},
    {"explain_modules",
     {"explain", "@/scenarios/qwen3-vl-235b-gb200.json", "--tp", "2", "--pp", "2", "--ep", "8", "--recompute", "full",
      "--modules", "--section", "modules"}},
    {"sweep_csv", {"sweep", "@/tests/data/small-sweep.json", "--top", "5", "--format", "csv"}},
    {"sweep_narrowed_json",
     {"sweep", "@/tests/data/small-sweep.json", "--tp", "1,2", "--ep", "8", "--recompute", "full", "--top", "3", "--format",
      "json"}},
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
  return text;
}

std::string transcript(const Case& test) {
  std::vector<std::string> args;
  std::string command = "$ shardfit";
  for (const std::string& arg : test.args) {
    args.push_back(replaced(arg, "@", kSource));
    command += " " + replaced(arg, "@/", "");
  }
  std::ostringstream out, err;
  const int code = shardfit::cli::run(args, out, err);
  const std::string text = command + "\n" + out.str() + "--- stderr\n" + err.str() + "--- exit " + std::to_string(code) + "\n";
  return replaced(text, kSource + "/", "");
}

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("the program prints what it printed") {
  ::setenv("SHARDFIT_DATA_DIR", kSource.c_str(), 1);
  const bool update = std::getenv("SHARDFIT_UPDATE_GOLDEN") != nullptr;
  for (const Case& test : kCases) {
    CAPTURE(std::string(test.name));
    const std::string path = kSource + "/tests/golden/expected/" + test.name + ".txt";
    const std::string text = transcript(test);
    if (update) std::ofstream(path) << text;
    CHECK(text == file_text(path));
  }
}

TEST_CASE("each expected file has a case") {
  for (const auto& entry : std::filesystem::directory_iterator(kSource + "/tests/golden/expected")) {
    const std::string name = entry.path().stem().string();
    CAPTURE(name);
    CHECK(std::any_of(kCases.begin(), kCases.end(), [&](const Case& test) { return test.name == name; }));
  }
}

TEST_CASE("the version is the project's") {
  CHECK(file_text(kSource + "/CMakeLists.txt").find(std::string("project(shardfit VERSION ") + shardfit::cli::kVersion + " ") !=
        std::string::npos);
}
