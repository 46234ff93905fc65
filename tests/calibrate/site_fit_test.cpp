// SPDX-License-Identifier: Apache-2.0
#include "calibrate/site_fit.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

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

TEST_CASE("no run, and runs of two clusters, are refused") {
  CHECK_THROWS_AS(fit_site({}, "test"), InputError);
  std::vector<TimedRun> runs = runs_at(factors(1, 1, 1), {8});
  validation::MeasuredRun other = run_of(8);
  other.scenario.job.hardware = io::load_hardware("h100-hgx");
  runs.emplace_back(other, 1);
  CHECK_THROWS_AS(fit_site(runs, "test"), InputError);
}

TEST_CASE("an overlay gives its cluster back") {
  const HardwareSpec base = io::load_hardware("b200-hgx");
  const HardwareSpec site = with_factors(base, factors(0.9, 0.8, 1.25), "two runs");
  const std::string path = std::filesystem::temp_directory_path() / "shardfit_overlay_test.json";
  std::ofstream(path) << io::hardware_overlay("my-b200", "b200-hgx", site_figures(site));
  const HardwareSpec read = io::load_hardware(path);
  std::remove(path.c_str());
  CHECK(read.name == "my-b200");
  CHECK(read.gpu.sustained_factor.value == doctest::Approx(0.9 * base.gpu.sustained_factor.value));
  CHECK(read.gpu.sustained_factor.kind == FigureKind::fitted);
  CHECK(read.fabric.nvlink_gb_per_s.value == doctest::Approx(0.8 * base.fabric.nvlink_gb_per_s.value));
  CHECK(read.node.host_speed.value == doctest::Approx(1.25));
  CHECK(read.gpu.hbm_tb_per_s.value == base.gpu.hbm_tb_per_s.value);
}
