// SPDX-License-Identifier: Apache-2.0
#include "io/load_study.hpp"

#include <doctest/doctest.h>

#include "io/load.hpp"
#include "shardfit/base/error.hpp"

using namespace shardfit;

namespace {

/// A scenario whose job and search are given.
std::string text(const std::string& job, const std::string& search, const std::string& more = "") {
  return R"({"model": "Qwen3-30B-A3B", )" + job + R"("training": {"sequence_length": 4096, "global_batch_size": 64},
            "layout": {}, "search": {)" +
         search + "}" + more + "}";
}

io::StudyFile read(const std::string& t, const io::JobChoice& choice = {}) { return io::parse_study(t, "s.json", choice); }

std::string error_of(const std::string& t) {
  try {
    read(t);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("hardware, GPU counts and precisions in the search make one job each") {
  const io::StudyFile study = read(
      text("", R"("hardware": ["h100-hgx", "gb200-nvl72"], "gpus": [8, 16], "precision": "bf16", "tp": "all", "ep": [1, 16])"));
  REQUIRE(study.scenarios.size() == 4);
  CHECK(study.scenarios[0].job.hardware.name == "h100-hgx");
  CHECK(study.scenarios[1].job.gpus == 16);
  CHECK(study.scenarios[2].job.hardware.name == "gb200-nvl72");
  CHECK(study.scenarios[0].space.tp == std::vector<int>{1, 2, 4, 8});
  CHECK(study.scenarios[3].space.tp == std::vector<int>{1, 2, 4, 8, 16});
  CHECK(study.scenarios[0].space.ep == std::vector<int>{1, 16});  // what 8 GPUs cannot have is refused by the rules
}

TEST_CASE("GPU counts may be a range, hardware and precision all there are") {
  const io::StudyFile study = read(text("", R"("hardware": "gb200-nvl72", "gpus": {"from": 8, "to": 32}, "precision": "all")"));
  REQUIRE(study.scenarios.size() == 3 * kCount<Precision>);
  CHECK(study.scenarios.back().job.gpus == 32);
  CHECK(read(text(R"("gpus": 8, )", R"("hardware": "all")")).scenarios.size() > 4);
}

TEST_CASE("a choice wins over the file, and one job of several is taken with a warning") {
  const std::string two = text(R"("hardware": "h100-hgx", )", R"("gpus": [8, 16])");
  io::JobChoice choice;
  CHECK(read(two).scenarios.size() == 2);
  choice.gpus = {32};
  choice.hardware = {"b200-hgx"};
  REQUIRE(read(two, choice).scenarios.size() == 1);
  CHECK(read(two, choice).scenarios[0].job.gpus == 32);
  CHECK(read(two, choice).scenarios[0].job.hardware.name == "b200-hgx");
  const Scenario first = io::parse_scenario(two, "s.json");
  CHECK(first.job.gpus == 8);
  CHECK(first.assumptions.back().find("of 2 jobs") != std::string::npos);
}

TEST_CASE("a job axis in two places, repeated or of a wrong kind is an error with its place") {
  CHECK(error_of(text(R"("hardware": "h100-hgx", "gpus": 8, )", R"("gpus": [8, 16])")).find("/search/gpus") !=
        std::string::npos);
  CHECK(error_of(text(R"("hardware": "h100-hgx", )", R"("gpus": [8, 8])")).find("each value once") != std::string::npos);
  CHECK(error_of(text(R"("hardware": "h100-hgx", )", R"("gpus": [])")).find("/search/gpus") != std::string::npos);
  CHECK(error_of(text(R"("hardware": "h100-hgx", )", R"("gpus": [0])")).find("/search/gpus/0") != std::string::npos);
  CHECK(error_of(text(R"("gpus": 8, )", R"("hardware": ["h100-hgz"])")).find("h100-hgx") != std::string::npos);
}

TEST_CASE("goals are read strictly") {
  const auto goals = [](const std::string& g) {
    return text(R"("hardware": "h100-hgx", "gpus": 8, )", "", R"(, "goals": )" + g);
  };
  const Goals read_back = read(goals(R"({"objective": "cost", "pareto": ["cost", "train_time", "gpus"], "train_tokens": 1e12,
      "usd_per_gpu_hour": {"h100-hgx": 2.5}, "watts_per_gpu": 900, "limits": {"memory_headroom_pct": 5, "tp": 4}})"))
                              .goals;
  CHECK(read_back.objective == Metric::cost);
  CHECK(read_back.pareto.size() == 3);
  CHECK(read_back.train_tokens == 1e12);
  CHECK(read_back.usd_per_gpu_hour.at("h100-hgx") == 2.5);
  CHECK(read_back.watts_per_gpu.at("") == 900);
  CHECK(read_back.limits.memory_headroom == doctest::Approx(0.05));
  CHECK(read_back.limits.tp == 4);
  CHECK(error_of(goals(R"({"objectiv": "cost"})")).find("objective") != std::string::npos);
  CHECK(error_of(goals(R"({"objective": "costs"})")).find("/goals/objective") != std::string::npos);
  CHECK(error_of(goals(R"({"pareto": ["cost"]})")).find("two to four") != std::string::npos);
  CHECK(error_of(goals(R"({"pareto": ["cost", "gpus", "cost"]})")).find("each metric once") != std::string::npos);
  CHECK(error_of(goals(R"({"base": "nonsense"})")).find("/goals/base") != std::string::npos);
  CHECK(error_of(goals(R"({"limits": {"tp": 0}})")).find("/goals/limits/tp") != std::string::npos);
}
