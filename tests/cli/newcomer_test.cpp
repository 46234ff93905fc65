// SPDX-License-Identifier: Apache-2.0
// What someone new does wrong, and what the program says then: nothing of theirs is lost, nothing is passed over.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <streambuf>

#include "cli/cli.hpp"
#include "cli/command.hpp"

namespace {

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

bool says(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

/// A disk that is full.
struct FullDisk : std::streambuf {
  int overflow(int) override { return traits_type::eof(); }
};

}  // namespace

TEST_CASE("a result never replaces the scenario that is read, and two results never share a file") {
  const Folder folder;
  const std::string own = folder.file("own scenario.json"), twice = folder.file("twice.csv");
  std::ofstream(own, std::ios::binary) << content(kSmall);
  const std::string before = content(own);
  for (const std::vector<std::string>& args : {std::vector<std::string>{"sweep", own, "--csv", own},
                                               {"sweep", own, "-o", own},
                                               {"sweep", own, "--resume", own},
                                               {"estimate", own, "-o", own},
                                               {"check", own, "-o", own},
                                               {"compare", own, "-o", own}}) {
    const Ran ran = run(args);
    CAPTURE(args[0] + " " + args[2]);
    CHECK(ran.code == 2);
    CHECK(says(ran.err, "which is read as scenario"));
    CHECK(content(own) == before);
  }
  const Ran ran = run({"sweep", own, "--csv", twice, "--pareto-csv", twice});
  CHECK(ran.code == 2);
  CHECK(says(ran.err, "expected a file for each result"));
  CHECK_FALSE(std::ifstream(twice).good());
  CHECK(run({"sweep", own, "--csv", "/dev/null", "--pareto-csv", "/dev/null", "-o", "/dev/null"}).code == 0);
}

TEST_CASE("an empty text, as a script's unset variable leaves it, is no option left out") {
  for (const char* flag : {"--csv", "--resume", "--top-csv", "--pareto-csv", "-o"})
    CHECK(run({"sweep", kSmall, flag, ""}).code == 2);
  CHECK(run({"estimate", kSmall, "--layout", ""}).code == 2);
}

TEST_CASE("a part asked for of what is written whole is refused") {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"topo", "b200-hgx", "--gpus", "16", "--format", "dot", "--section", "cluster"},
        {"list", "rules", "--format", "markdown", "--section", "nosuch"}}) {
    const Ran ran = run(args);
    CHECK(ran.code == 2);
    CHECK(says(ran.err, "--section: got"));
    CHECK(ran.out.empty());
  }
}

TEST_CASE("a result that cannot be written is no success") {
  FullDisk full;
  std::ostream out(&full);
  std::ostringstream err;
  CHECK(shardfit::cli::run(std::vector<std::string>{"list", "models"}, out, err) == 2);
  CHECK(says(err.str(), "stdout"));
}

TEST_CASE("- is stdout") { CHECK(run({"list", "models", "-o", "-"}).out == run({"list", "models"}).out); }

TEST_CASE("a Hugging Face configuration of a family that is not read is told from a broken model file") {
  const Folder folder;
  const std::string config = folder.file("config.json");
  std::ofstream(config) << R"({"architectures": ["JambaForCausalLM"], "model_type": "jamba", "hidden_size": 2048})";
  const Ran ran = run({"estimate", kSmall, "--set", "model=" + config});
  CHECK(ran.code == 2);
  CHECK(says(ran.err, "expected a Hugging Face configuration of llama"));
  CHECK(says(ran.err, "models/README.md"));
}

TEST_CASE("files that are no JSON, empty or of another kind") {
  const Folder folder;
  const std::string empty = folder.file("empty.json"), other = folder.file("other.json");
  std::ofstream{empty};
  std::ofstream(other) << R"({"a": 1})";
  CHECK(says(run({"check", empty}).err, "got an empty file"));
  CHECK(says(run({"sweep", kSmall, "--resume", other}).err, "expected a partial sweep"));
  CHECK(content(other) == R"({"a": 1})");
}

TEST_CASE("numbers too large are said to be too large") {
  CHECK(says(run({"estimate", kSmall, "--tp", "99999999999"}).err, "at most 2147483647"));
  CHECK(says(run({"estimate", kSmall, "--tp", "-99999999999"}).err, "at least 1"));
}

TEST_CASE("layers that do not divide: the split that would do is named, and does") {
  const std::string model = "model=DeepSeek-V3";
  const std::vector<std::string> asked{"check", "deepseek-v3-gb200", "--pp",   "4", "--vpp", "4", "--ep",
                                       "64",    "--pipeline-split",  "uniform"};
  const Ran refused = run(asked);
  CHECK(refused.code == 1);
  CHECK(says(refused.out, "--pipeline-split 'layout:Et*4|(t*4|)*14t*1mL'"));
  std::vector<std::string> mended = asked;
  mended.back() = "layout:Et*4|(t*4|)*14t*1mL";
  CHECK_FALSE(says(run(mended).out, "Not allowed"));
}

TEST_CASE("a sweep's last line warns of padding, of a peak at the edge, of a search that is none") {
  CHECK(says(
      run({"sweep", kSmall, "--set", "training.packing={\"kind\": \"offline\", \"efficiency_pct\": 50}", "--mbs", "1"}).out,
      "only 50 % of these tokens are no padding"));
  CHECK(says(run({"sweep",
                  "deepseek-v3-gb200",
                  "--tp",
                  "1",
                  "--cp",
                  "1",
                  "--pp",
                  "4",
                  "--vpp",
                  "4",
                  "--ep",
                  "64",
                  "--etp",
                  "1",
                  "--mbs",
                  "1",
                  "--recompute",
                  "none",
                  "--sharding",
                  "optimizer",
                  "--dispatcher",
                  "hybridep",
                  "--cuda-graph",
                  "none",
                  "--expert-overlap",
                  "false",
                  "--pipeline-split",
                  "layout:Et*4|(t*4|)*14tmL"})
                 .out,
             "one layout alone is no search"));
}

TEST_CASE("the fullest stage is named with its ranks, in either order of ranks") {
  const std::vector<std::string> asked{"check", "qwen3-235b-gb200", "--layout", "tp2-cp1-pp2-ep8-etp1-mbs1-sp-sh:optimizer"};
  const auto verdict = [&](std::vector<std::string> more) {
    std::vector<std::string> args = asked;
    args.insert(args.end(), more.begin(), more.end());
    const std::string out = run(args).out;
    const auto at = out.find("fullest rank: stage ");
    REQUIRE(at != std::string::npos);
    return out.substr(at, out.find(')', at) - at);
  };
  CHECK(says(verdict({"--gpus", "64"}), "stage 0, ranks 0-31, "));
  CHECK(says(verdict({"--gpus", "64", "--tp-pp-dp-mapping", "true", "--ep", "2"}), "stage 0, ranks 0-1 of every 4, "));
  CHECK_FALSE(says(verdict({"--gpus", "64", "--pp", "1"}), "ranks"));
}

TEST_CASE("what published recipes set is listed with the runs that it is about and its source") {
  const nlohmann::json rows = nlohmann::json::parse(run({"list", "recipes", "--format", "json"}).out)["recipes"];
  REQUIRE(rows.size() > 20);
  for (const auto& row : rows) {
    CHECK(!row["settings"].get<std::string>().empty());
    CHECK(!row["precision"].get<std::string>().empty());
    CHECK(!row["source"].get<std::string>().empty());
    CHECK(row["recipe"] == "megatron-bridge");
  }
  CHECK(run({"list", "recipes"}).out.find("num_layers_at_end_in_bf16 14") != std::string::npos);
}

TEST_CASE("topo stops at as many GPUs as everything else") {
  CHECK(run({"topo", "gb200-nvl72", "--gpus", "1000000"}).code == 0);
  CHECK(run({"topo", "gb200-nvl72", "--gpus", "1000001"}).code == 2);
  CHECK(run({"estimate", kSmall, "--gpus", "1000001"}).code == 2);
}

TEST_CASE("sequence parallelism asked for at tp 1 is told to do nothing") {
  const auto told = [](std::vector<std::string> args) {
    return run(args).out.find("--sequence-parallel true does nothing at tp 1") != std::string::npos;
  };
  CHECK(told({"estimate", kSmall, "--tp", "1", "--sequence-parallel", "true"}));
  CHECK(told({"sweep", kSmall, "--tp", "1", "--sequence-parallel", "true"}));
  CHECK_FALSE(told({"estimate", kSmall, "--tp", "2", "--sequence-parallel", "true"}));
  CHECK_FALSE(told({"estimate", kSmall, "--tp", "1", "--sequence-parallel", "false"}));
  CHECK_FALSE(told({"sweep", kSmall, "--tp", "1,2", "--sequence-parallel", "true"}));
}

TEST_CASE("one section of a validation as CSV, and what there is instead of a missing one") {
  const std::string runs = std::string(SHARDFIT_SOURCE_DIR) + "/tests/measured/reported_runs.json";
  const std::vector<std::string> args{"validate", runs,  "--where",  "id=report/swift-megatron-mcore_bridge-full-dense",
                                      "--format", "csv", "--section"};
  const auto section = [&](const char* name) {
    std::vector<std::string> all = args;
    all.push_back(name);
    return run(all);
  };
  CHECK(section("assumed").code == 0);
  CHECK(section("assumed").out.starts_with("id,field,"));
  CHECK(section("rows").out == run({args.begin(), args.end() - 1}).out);
  const Ran missing = section("asumed");
  CHECK(missing.code == 2);
  CHECK(missing.err.find("did you mean assumed?") != std::string::npos);
}

TEST_CASE("calibration says of one, two and contradictory runs what they are, and why there is none") {
  const Folder folder;
  const auto runs = [&](std::vector<double> seconds, const std::string& hardware) {
    nlohmann::json rows = nlohmann::json::array();
    for (const double s : seconds)
      rows.push_back(
          {{"id", "run-" + std::to_string(rows.size())},
           {"model", "Llama-3-8B"},
           {"hardware", hardware},
           {"gpus", 8},
           {"training", {{"task", "pretrain"}, {"precision", "bf16"}, {"sequence_length", 8192}, {"global_batch_size", 64}}},
           {"layout", {{"tp", 1}, {"micro_batch_size", 1}}},
           {"measured", {{"step_time_s", s}}}});
    const std::string path = folder.file("runs.json");
    std::ofstream(path) << rows.dump();
    return run({"calibrate", path});
  };
  CHECK(runs({5}, "h100-hgx").out.find("The run is ") != std::string::npos);
  const std::string two = runs({5, 12}, "h100-hgx").out;
  CHECK(two.find("The two runs are ") != std::string::npos);
  CHECK(two.find("Median") == std::string::npos);
  CHECK(two.find("run-0 and run-1 are predicted alike and measured 5.000 and 12.000 s") != std::string::npos);
  CHECK(runs({5, 5.1}, "h100-hgx").out.find("predicted alike") == std::string::npos);
  CHECK(runs({5, 5.1, 5.2}, "h100-hgx").out.find("Median error") != std::string::npos);
  const Ran unknown = runs({5}, "h100-hgxx");
  CHECK(unknown.code == 2);
  CHECK(unknown.err.find("h100-hgxx") != std::string::npos);
}
