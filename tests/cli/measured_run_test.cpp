// SPDX-License-Identifier: Apache-2.0
// A row of a file of measured runs as the thing to look at: the same prediction that `validate` scores, and changes to it.
#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"

namespace {

const std::string kRuns = std::string(SHARDFIT_SOURCE_DIR) + "/tests/measured/throughput.json";
const std::string kId = "26.04-pretrain-llama3.1-405b-gb200-256g-fp8-cs";

nlohmann::json parsed(const std::vector<std::string>& args) {
  const Ran ran = run(args);
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  return nlohmann::json::parse(ran.out);
}

}  // namespace

TEST_CASE("estimate --run predicts what validate scores for the row") {
  const auto scored = parsed({"validate", kRuns, "--where", "id=" + kId, "--format", "json"});
  const auto estimated = parsed({"estimate", kRuns, "--run", kId, "--format", "json"});
  double predicted = 0;
  for (const auto& quantity : scored["rows"][0]["quantities"])
    if (quantity["name"] == "step_time_s") predicted = quantity["predicted"];
  REQUIRE(predicted > 0);
  CHECK(estimated["throughput"]["step_time_s"].get<double>() == doctest::Approx(predicted).epsilon(1e-12));
}

TEST_CASE("layout flags change the run, flags of the job are refused") {
  const auto changed = parsed({"estimate", kRuns, "--run", kId, "--recompute", "full:uniform:1", "--format", "json"});
  const auto base = parsed({"estimate", kRuns, "--run", kId, "--format", "json"});
  CHECK(changed["throughput"]["step_time_s"].get<double>() > base["throughput"]["step_time_s"].get<double>());
  for (const std::vector<std::string>& job :
       {std::vector<std::string>{"--gpus", "64"}, {"--hardware", "b200-hgx"}, {"--set", "training.sequence_length=1"}}) {
    std::vector<std::string> args{"estimate", kRuns, "--run", kId};
    args.insert(args.end(), job.begin(), job.end());
    const Ran refused = run(args);
    CHECK(refused.code == 2);
    CHECK(refused.err.find("--run") != std::string::npos);
  }
}

TEST_CASE("an id that no row has names the nearest") {
  const Ran ran = run({"explain", kRuns, "--run", "26.04-pretrain-llama3.1-405b-gb200-256g-fp8-c"});
  CHECK(ran.code == 2);
  CHECK(ran.err.find("did you mean \"" + kId + "\"") != std::string::npos);
}

TEST_CASE("along a pipeline without interleaving the change worth trying is to gather all stages at once") {
  const std::string id = "26.04.01-pretrain-deepseek-v3-b300-256g-fp8-mx";
  const auto base = parsed({"estimate", kRuns, "--run", id, "--format", "json"});
  CHECK(base["change"]["field"] == "overlap-param-gather");
  CHECK(base["change"]["to"] == "false");
  const auto changed = parsed({"estimate", kRuns, "--run", id, "--overlap-param-gather", "false", "--format", "json"});
  CHECK(changed["throughput"]["step_time_s"] == base["change"]["step_time_s"]);  // what was promised is what comes
}

TEST_CASE("an id that two rows have names neither") {
  const std::string row =
      R"({"id": "a", "model": "Qwen3-8B", "hardware": "h100-hgx", "gpus": 8, "training": {}, "layout": {}})";
  const std::string path = "measured_run_test_rows.json";
  std::ofstream(path) << "[" << row << "," << row << "]";
  const Ran ran = run({"check", path, "--run", "a"});
  std::remove(path.c_str());
  CHECK(ran.code == 2);
  CHECK(ran.err.find("2 runs of id 'a'") != std::string::npos);
}
