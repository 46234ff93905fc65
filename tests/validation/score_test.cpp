// SPDX-License-Identifier: Apache-2.0
// What ran is predicted unless its sizes make no layout, and the rule that it breaks is told.
#include "validation/score.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "layout/edges/all.hpp"
#include "search/small_scenario.hpp"

using namespace shardfit;
using namespace shardfit::test;
using validation::RowStatus;

namespace {

/// What rules know of hardware, with rates beside it.
HardwareSpec with_rates(const HardwareSpec& ruled) {
  HardwareSpec hardware = small_scenario().job.hardware;
  hardware.gpu.generation = ruled.gpu.generation;
  hardware.node.cpu = ruled.node.cpu;
  hardware.fabric.placed_per_domain = ruled.fabric.placed_per_domain;
  for (std::size_t i = 0; i < kCount<Math>; ++i)
    hardware.gpu.peak_tflops[Math(i)].value = std::max(1.0, hardware.gpu.peak_tflops[Math(i)].value);
  return hardware;
}

validation::MeasuredRun run_of(const Edge& edge) {
  validation::MeasuredRun run;
  run.id = std::string(edge.code);
  run.scenario.base = plain_layout();
  Job& job = run.scenario.job;
  job = edge.job;
  edge.good(job, run.scenario.base);
  edge.bad(job, run.scenario.base);
  job.hardware = with_rates(job.hardware);
  job.time = small_scenario().job.time;
  run.quantities = {{"step_time_s", 1.0}, {"static_allocated_bytes", 1.0}, {"peak_allocated_gb", 1.0}};
  run.oom = false;
  return run;
}

std::set<std::string_view> setting_codes() { return {setting_rules().begin(), setting_rules().end()}; }

}  // namespace

TEST_CASE("every rule of a setting is a rule") {
  std::set<std::string_view> known;
  for (const RuleInfo& rule : rules()) known.insert(rule.code);
  for (const std::string_view code : setting_codes()) {
    CAPTURE(code);
    CHECK(known.contains(code));
  }
}

TEST_CASE("a run that breaks a setting's rule alone has figures, and the rule beside them") {
  const auto settings = setting_codes();
  for (const Edge& edge : all_edges()) {
    CAPTURE(edge.code);
    const validation::MeasuredRun run = run_of(edge);
    bool sizes = false;
    const auto violations = all_violations(run.scenario.job, run.scenario.base);
    for (const Violation& v : violations) sizes |= !is_setting(v.rule);
    const validation::Row row = validation::score(run);
    if (sizes) {
      CHECK(row.status == RowStatus::invalid);
      CHECK(row.breaks == "");
      continue;
    }
    if (violations.empty() || !settings.contains(edge.code)) continue;  // a rule about rates that this hardware has
    CAPTURE(row.reason);
    CHECK(row.status == RowStatus::ok);
    CHECK(row.breaks != "");
    CHECK(row.scores.size() == 3);
    for (const validation::Score& s : row.scores) {
      CAPTURE(s.name);
      CHECK(std::isfinite(s.predicted));
      CHECK(s.predicted > 0);
    }
  }
}

TEST_CASE("numbers that no score has are told: no such quantity, or a value that cannot be") {
  validation::MeasuredRun run;
  run.quantities = {
      {"step_time_s", 0.0}, {"peak_gb", 70.0}, {"step_time", 3.0}, {"tflops_per_gpu", 500.0}, {"failed_request_gib", 2.0}};
  const auto words = validation::not_scored(run);
  REQUIRE(words.size() == 3);
  CHECK(words[0] == "measured.peak_gb is no quantity that is predicted; did you mean \"peak_gib\"?");
  CHECK(words[1] == "measured.step_time is no quantity that is predicted; did you mean \"step_time_s\"?");
  CHECK(words[2] == "measured.step_time_s is not above 0");
}
