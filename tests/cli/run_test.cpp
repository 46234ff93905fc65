// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"

// The commands from end to end on a small space: what one prints, another must agree with.

using nlohmann::json;

namespace {

json run_json(std::vector<std::string> args) {
  args.insert(args.end(), {"--format", "json"});
  return json::parse(run(args).out);
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("a sweep's row, given to estimate by its id, yields the same numbers") {
  const json sweep = run_json({"sweep", kSmall, "--top", "3"});
  REQUIRE(sweep["top"].size() == 3);
  for (const json& row : sweep["top"]) {
    const json estimate = run_json({"estimate", kSmall, "--layout", row["layout_id"]});
    CHECK(estimate["throughput"]["step_time_s"] == row["step_time_s"]);
    CHECK(estimate["throughput"]["tokens_per_s_per_gpu"] == row["tokens_per_s_per_gpu"]);
    CHECK(estimate["verdict"]["peak_memory_gib"] == row["peak_memory_gib"]);
    CHECK(estimate["verdict"]["fits"] == row["fits"]);
    CHECK(estimate["layout"]["tp"] == row["tp"]);
    CHECK(estimate["layout"]["layout_id"] == row["layout_id"]);
  }
}

TEST_CASE("what an explanation says that a change would save, an estimate of the changed layout confirms") {
  const std::string id = run_json({"sweep", kSmall, "--top", "1"})["top"][0]["layout_id"];
  const json now = run_json({"estimate", kSmall, "--layout", id});
  const json explain = run_json({"explain", kSmall, "--layout", id, "--memory"});
  REQUIRE(explain["memory_savings"].size() >= 1);
  CHECK(explain["memory_savings"].size() <= 3);
  double last = 1e9;
  for (const json& row : explain["memory_savings"]) {
    const json then = run_json({"estimate", kSmall, "--layout", id, "--" + row["field"].get<std::string>(), row["to"]});
    CHECK(then["verdict"]["peak_memory_gib"] == row["peak_memory_gib"]);
    CHECK(then["throughput"]["step_time_s"] == row["step_time_s"]);
    const double saved = row["saved_gib"].get<double>();
    CHECK(saved == doctest::Approx(now["verdict"]["peak_memory_gib"].get<double>() - row["peak_memory_gib"].get<double>()));
    CHECK(saved > 0);
    CHECK(saved <= last);
    last = saved;
  }
}

TEST_CASE("the terms of an explanation add up to what the sweep says") {
  const json row = run_json({"sweep", kSmall, "--top", "1"})["top"][0];
  const json explain = run_json({"explain", kSmall, "--layout", row["layout_id"]});
  double memory = 0, time = 0;
  for (const json& term : explain["memory"]) memory += term["size_gib"].get<double>();
  for (const json& term : explain["time"]) time += term["time_s"].get<double>();
  CHECK(memory == doctest::Approx(row["peak_memory_gib"].get<double>()).epsilon(1e-12));
  CHECK(time == doctest::Approx(row["step_time_s"].get<double>()).epsilon(1e-12));
}

TEST_CASE("--csv has every allowed layout, and the same bytes for any number of threads") {
  const Folder folder;
  const json sweep = run_json({"sweep", kSmall, "--csv", folder.file("one.csv"), "--threads", "1"});
  const Ran four = run({"sweep", kSmall, "--csv", folder.file("four.csv"), "--pareto-csv", folder.file("front.csv"),
                        "--threads", "4", "--format", "json"});
  CHECK(json::parse(four.out) == sweep);
  const std::vector<std::string> one = lines_of(folder.file("one.csv"));
  CHECK(one.size() == sweep["space"]["valid"].get<std::size_t>() + 1);
  CHECK(one == lines_of(folder.file("four.csv")));
  CHECK(lines_of(folder.file("front.csv")).size() == sweep["pareto"].size() + 1);
  CHECK(one.front().find("peak_memory_gib,margin_gib") != std::string::npos);
  CHECK(one.front().ends_with(",layout_id"));
  // A row says the same wherever it stands: risk and largest term too.
  for (const std::string& line : lines_of(folder.file("front.csv")))
    CHECK(std::find(one.begin(), one.end(), line) != one.end());
}

TEST_CASE("a section or a price that a sweep cannot have is refused before the work") {
  const Folder folder;
  const Ran section = run({"sweep", kSmall, "--section", "tops", "--csv", folder.file("all.csv")});
  CHECK(section.code == 2);
  CHECK(section.err.find("did you mean top?") != std::string::npos);
  CHECK(section.err.find("combinations") == std::string::npos);
  CHECK(run({"sweep", kSmall, "--gpus", "1", "--section", "near_ties,sensitivity"}).code == 1);  // nothing runs on one
  const Ran price = run({"sweep", kSmall, "--objective", "cost", "--usd-per-gpu-hour", "4,no-such-cluster=5"});
  CHECK(price.code == 2);
  CHECK(price.err.find("--usd-per-gpu-hour: got 'no-such-cluster=5'") != std::string::npos);
  const Ran goal = run({"sweep", kSmall, "--set", "goals.usd_per_gpu_hour.gb200-nvl7=5"});
  CHECK(goal.code == 2);
  CHECK(goal.err.find("/goals/usd_per_gpu_hour/gb200-nvl7: got 'gb200-nvl7'") != std::string::npos);
  CHECK(goal.err.find("did you mean \"gb200-nvl72\"?") != std::string::npos);
}

TEST_CASE("what would be counted twice, or written nowhere, is refused") {
  const Folder folder;
  const auto refused = [](const std::vector<std::string>& args, const char* why) {
    const Ran ran = run(args);
    CAPTURE(why);
    CAPTURE(ran.err);
    CHECK(ran.code == 2);
    CHECK(ran.err.find(why) != std::string::npos);
  };
  refused({"sweep", kSmall, "--gpus", "8,8"}, "--gpus: got 8 twice");
  refused({"sweep", kSmall, "--tp", "1,1"}, "--tp: got 1 twice");
  refused({"sweep", kSmall, "--objective", "cost", "--usd-per-gpu-hour", "4,5"}, "--usd-per-gpu-hour: got '5'");
  refused({"sweep", kSmall, "--shard", "0/2", "--resume", folder.file("part"), "-o", folder.file("out.json")},
          "-o: got a result of one shard");
  refused({"compare", kSmall, "--section", "layout"}, "did you mean layouts?");
}

TEST_CASE("compare keeps to the limits of a scenario's goals") {
  const json all = run_json({"compare", kSmall}), least = run_json({"compare", kSmall, "--set", "goals.limits.pp=1"});
  bool deep = false;
  for (const json& row : all["layouts"]) deep |= row["pp"] != 1;
  CHECK(deep);
  CHECK_FALSE(least["layouts"].empty());
  for (const json& row : least["layouts"]) CHECK(row["pp"] == 1);
}

TEST_CASE("every refusal's example breaks that rule") {
  const json sweep = run_json({"sweep", kSmall});
  std::uint64_t refused = 0;
  for (const json& row : sweep["rejected"]) {
    refused += row["count"].get<std::uint64_t>();
    const json check = run_json({"check", kSmall, "--layout", row["example_layout_id"]});
    CAPTURE(row["reason"]);
    if (row["reason"] == "alias") continue;  // allowed, but another row's layout under a second name
    CHECK(check["layout"]["ok"] == false);
    if (row["reason"] == "memory") {
      CHECK(check["verdict"]["fits"] == false);
      continue;
    }
    const json& broken = check["violations"];
    CHECK(std::any_of(broken.begin(), broken.end(), [&](const json& violation) { return violation["rule"] == row["reason"]; }));
  }
  CHECK(refused + sweep["space"]["fit"].get<std::uint64_t>() == sweep["space"]["space"].get<std::uint64_t>());
}

TEST_CASE("check's exit code is its answer") {
  const std::string best = run_json({"sweep", kSmall, "--top", "1"})["top"][0]["layout_id"];
  CHECK(run({"check", kSmall, "--layout", best}).code == 0);
  CHECK(run({"check", kSmall, "--layout", best, "--tp", "3"}).code == 1);
  CHECK(run({"check", kSmall}).code == 2);
}

TEST_CASE("the ending of -o chooses the format, and stdout stays empty") {
  const Folder folder;
  const Ran ran = run({"list", "hardware", "-o", folder.file("x.json")});
  CHECK(ran.code == 0);
  CHECK(ran.out.empty());
  std::ifstream file(folder.file("x.json"));
  CHECK(json::parse(file)["view"] == "list");
}

TEST_CASE("a bad layout flag costs no file") {
  const Folder folder;
  const Ran ran = run({"sweep", kSmall, "--tp", "x", "--csv", folder.file("all.csv")});
  CHECK(ran.code == 2);
  CHECK(ran.out.empty());
  CHECK(std::filesystem::is_empty(folder.path));
}

TEST_CASE("each command has each format") {
  const std::string id = run_json({"sweep", kSmall, "--top", "1"})["top"][0]["layout_id"];
  const std::vector<std::vector<std::string>> commands = {{"sweep", kSmall},
                                                          {"estimate", kSmall, "--layout", id},
                                                          {"check", kSmall, "--layout", id},
                                                          {"explain", kSmall, "--layout", id},
                                                          {"topo", kSmall, "--layout", id},
                                                          {"list", "models"},
                                                          {"list", "hardware"},
                                                          {"list", "stacks"},
                                                          {"list", "scenarios"},
                                                          {"list", "rules"},
                                                          {"list", "terms"}};
  for (const std::vector<std::string>& command : commands)
    for (const char* format : {"table", "csv", "json"}) {
      std::vector<std::string> args = command;
      args.insert(args.end(), {"--format", format});
      const Ran ran = run(args);
      CAPTURE(command.front());
      CAPTURE(format);
      CHECK(ran.code == 0);
      // A sweep tells the size of its space before it starts.
      CHECK(ran.err.empty() == (command.front() != "sweep"));
      CHECK_FALSE(ran.out.empty());
      CHECK(ran.out.find('\033') == std::string::npos);
      if (std::string(format) == "json") CHECK(json::accept(ran.out));
    }
}

TEST_CASE("the change that check proposes does fit, and is one flag away") {
  const std::vector<std::string> too_big = {"check", kSmall, "--tp", "1", "--ep", "1"};
  const json check = run_json(too_big);
  REQUIRE(check["verdict"]["fits"] == false);
  REQUIRE(check.contains("change"));
  CHECK(run({"check", kSmall, "--layout", check["change"]["layout_id"]}).code == 0);
  std::vector<std::string> cured = {"check", kSmall, "--layout", check["layout"]["layout_id"]};
  cured.push_back("--" + check["change"]["field"].get<std::string>());
  cured.push_back(check["change"]["to"]);
  const json again = run_json(cured);
  CHECK(again["layout"]["layout_id"] == check["change"]["layout_id"]);
  CHECK(again["verdict"]["peak_memory_gib"] == check["change"]["peak_memory_gib"]);
}

TEST_CASE("points of measured collectives are held against the model, with limits that can fail") {
  const std::string points = std::string(SHARDFIT_SOURCE_DIR) + "/tests/measured/points/nccl.csv";
  for (const char* format : {"table", "csv", "json", "markdown"}) {
    const Ran ran = run({"validate", "--points", points, "--format", format});
    CAPTURE(format);
    CHECK(ran.code == 0);
    CHECK_FALSE(ran.out.empty());
  }
  const json families = run_json({"validate", "--points", points})["family"];
  CHECK(families.size() == 2);
  CHECK(run({"validate", "--points", points, "--max-median", "0.0001"}).code == 1);
  CHECK(run({"validate", "--points", points, "--where", "tuned"}).code == 2);
  CHECK(run({"validate"}).code == 2);
}

TEST_CASE("a slip in a cluster's name is told with the nearest one") {
  CHECK(run({"topo", "gb200-nvl7"}).err.find("did you mean \"gb200-nvl72\"?") != std::string::npos);
}

TEST_CASE("topo draws where each group lies, and lets the fabric be changed") {
  const json topo = run_json({"topo", "b200-hgx", "--gpus", "1024", "--oversubscription", "4", "--spare-nodes", "2"});
  CHECK(topo["matrix"].size() >= 10);
  const json placed = run_json({"topo", kSmall, "--tp", "2", "--ep", "4", "--pp", "1", "--cp", "1", "--vpp", "1"});
  bool tp_drawn = false;
  for (const json& row : placed["placement"]) tp_drawn |= row["group"] == "tp" && row["gpus"] == "##......";
  CHECK(tp_drawn);
  CHECK(run({"topo", "gb200-nvl72", "--per-domain", "73"}).code == 2);
}

TEST_CASE("where nothing fits, a sweep names the nearest layout, what it is over by, and exits with 1") {
  const Ran ran = run({"sweep", kSmall, "--min-memory-headroom", "99"});
  CHECK(ran.code == 1);
  CHECK(ran.out.find("nearest: tp") != std::string::npos);
  CHECK(ran.out.find("too much") != std::string::npos);
  const Ran data = run({"sweep", kSmall, "--min-memory-headroom", "99", "--format", "json"});
  CHECK(data.out.find("\"nearest_layout_id\": \"tp") != std::string::npos);
  CHECK(data.out.find("\"nearest_over_gib\": ") != std::string::npos);
  CHECK(run({"sweep", kSmall}).code == 0);
}
