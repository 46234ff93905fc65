// SPDX-License-Identifier: Apache-2.0
#include "calibrate/site_fit.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "estimate/time_band.hpp"
#include "io/load.hpp"
#include "io/write_hardware.hpp"
#include "shardfit/base/error.hpp"

using namespace shardfit;
using namespace shardfit::calibrate;

namespace {

validation::MeasuredRun run_of(int micro_batches) {
  validation::MeasuredRun run;
  run.id = "m" + std::to_string(micro_batches);
  run.scenario.job.model = io::load_model("Qwen3-30B-A3B");
  run.scenario.job.hardware = io::load_hardware("b200-hgx");
  run.scenario.job.time = io::load_coefficients();
  run.scenario.job.stack = io::load_stack("megatron-bridge-perf");
  run.scenario.job.gpus = 16;
  run.scenario.job.training.global_batch_size = 16 * micro_batches;
  run.scenario.base.ep = 8;
  return run;
}

/// Runs of a site whose clock, links and hosts are as `factors` say.
std::vector<TimedRun> runs_at(const SiteFactors& factors, std::initializer_list<int> micro_batches) {
  std::vector<TimedRun> runs;
  for (const int m : micro_batches) {
    const validation::MeasuredRun run = run_of(m);
    const HardwareSpec site = with_factors(run.scenario.job.hardware, factors, "test");
    runs.emplace_back(run, TimedRun(run, 1).seconds(site));
  }
  return runs;
}

SiteFactors factors(double clock, double links, double host) {
  SiteFactors f{};
  f[SiteFactor::sustained_clock] = clock;
  f[SiteFactor::link_efficiency] = links;
  f[SiteFactor::host_speed] = host;
  return f;
}

}  // namespace

TEST_CASE("a site like the file needs no factors") {
  const SiteFit fit = fit_site(runs_at(factors(1, 1, 1), {8, 16}), "test");
  for (std::size_t i = 0; i < kCount<SiteFactor>; ++i) CHECK(fit.factors[SiteFactor(i)] == doctest::Approx(1));
  CHECK(fit.after.max < 1e-6);
}

TEST_CASE("one run of a slower site halves its own error and more") {
  const SiteFit fit = fit_site(runs_at(factors(0.85, 0.8, 0.7), {16}), "test");
  CHECK(fit.before.bias < -0.1);
  CHECK(std::abs(fit.after.bias) < std::abs(fit.before.bias) / 2);
  for (std::size_t i = 0; i < kCount<SiteFactor>; ++i) CHECK(fit.factors[SiteFactor(i)] <= 1.0);
}

TEST_CASE("each anchor run tightens the band; the first by little, none below the noise of a run") {
  const SiteFactors slower = factors(0.95, 1, 1);
  const double one = fit_site(runs_at(slower, {16}), "test").band;
  const double two = fit_site(runs_at(slower, {8, 16}), "test").band;
  const double four = fit_site(runs_at(slower, {4, 8, 16, 32}), "test").band;
  CHECK(one < estimate::TimeBands::known);
  CHECK(one > 0.8 * estimate::TimeBands::known);
  CHECK(two < one);
  CHECK(four < two);
  CHECK(four >= 0.02);
}

TEST_CASE("the band is never below what the runs leave") {
  std::vector<TimedRun> runs;
  // The same job measured at times that no factor can explain: 25 % apart.
  const double s = TimedRun(run_of(16), 1).seconds(io::load_hardware("b200-hgx"));
  for (const double off : {0.88, 1.12, 0.88, 1.12}) runs.emplace_back(run_of(16), off * s);
  const SiteFit fit = fit_site(runs, "test");
  double squares = 0;
  for (const SiteRun& r : fit.runs) squares += std::pow(r.after / r.measured - 1, 2);
  CHECK(fit.band >= std::sqrt(squares / double(fit.runs.size())));
  CHECK(fit.band > estimate::TimeBands::known);  // a site whose runs scatter is less known than one without runs
}

TEST_CASE("the overlay states the band as fitted, with its source") {
  const SiteFit fit = fit_site(runs_at(factors(0.9, 0.9, 0.9), {8, 16}), "two runs");
  CHECK(fit.hardware.step_time_band.value == fit.band);
  CHECK(fit.hardware.step_time_band.kind == FigureKind::fitted);
  const auto figures = site_figures(fit.hardware);
  REQUIRE_FALSE(figures.empty());
  CHECK(figures.back().first == "/step_time_band");
  CHECK(figures.back().second.source == "two runs");
  for (const auto& [pointer, figure] : site_figures(io::load_hardware("b200-hgx"))) CHECK(pointer != "/step_time_band");
}

TEST_CASE("no run, and runs of two clusters, are refused") {
  CHECK_THROWS_AS(fit_site({}, "test"), InputError);
  std::vector<TimedRun> runs = runs_at(factors(1, 1, 1), {8});
  validation::MeasuredRun other = run_of(8);
  other.scenario.job.hardware = io::load_hardware("h100-hgx");
  runs.emplace_back(other, 1);
  CHECK_THROWS_AS(fit_site(runs, "test"), InputError);
}

TEST_CASE("an overlay whose band is no share is refused with its place") {
  const std::string path = std::filesystem::temp_directory_path() / "shardfit_band_test.json";
  std::ofstream(path) << io::hardware_overlay("my-b200", "b200-hgx", {{"/step_time_band", {5, FigureKind::fitted, "percent"}}});
  std::string message;
  try {
    io::load_hardware(path);
  } catch (const InputError& error) {
    message = error.what();
  }
  std::remove(path.c_str());
  CHECK(message.find("/step_time_band/value") != std::string::npos);
  CHECK(message.find("at most 1") != std::string::npos);
}

TEST_CASE("an overlay gives its cluster back") {
  const HardwareSpec base = io::load_hardware("b200-hgx");
  HardwareSpec site = with_factors(base, factors(0.9, 0.8, 1.25), "two runs");
  site.step_time_band = {0.04, FigureKind::fitted, "two runs"};
  const std::string path = std::filesystem::temp_directory_path() / "shardfit_overlay_test.json";
  std::ofstream(path) << io::hardware_overlay("my-b200", "b200-hgx", site_figures(site));
  const HardwareSpec read = io::load_hardware(path);
  std::remove(path.c_str());
  CHECK(read.name == "my-b200");
  CHECK(read.gpu.sustained_factor.value == doctest::Approx(0.9 * base.gpu.sustained_factor.value));
  CHECK(read.gpu.sustained_factor.kind == FigureKind::fitted);
  CHECK(read.fabric.nvlink_gb_per_s.value == doctest::Approx(0.8 * base.fabric.nvlink_gb_per_s.value));
  CHECK(read.node.host_speed.value == doctest::Approx(1.25 * base.node.host_speed.value));
  CHECK(read.step_time_band.value == doctest::Approx(0.04));
  CHECK(read.step_time_band.kind == FigureKind::fitted);
  CHECK(base.step_time_band.value == 0);
  CHECK(read.gpu.hbm_tb_per_s.value == base.gpu.hbm_tb_per_s.value);
}
