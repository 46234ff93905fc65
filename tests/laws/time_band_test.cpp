// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "estimate/time_band.hpp"
#include "io/load.hpp"
#include "shardfit/estimate/estimator.hpp"

using namespace shardfit;
using estimate::TimeBands;

namespace {

Estimate estimate_of(const char* model, double calibrated) {
  Job job;
  job.model = io::load_model(model);
  job.hardware = io::load_hardware("h100-hgx");
  job.time = io::load_coefficients();
  job.stack = io::load_stack("megatron-bridge-perf");
  job.gpus = 64;
  job.training.global_batch_size = 256;
  if (calibrated > 0) job.hardware.step_time_band = {calibrated, FigureKind::fitted, "runs of the site"};
  Layout layout;
  layout.tp = 4;
  layout.sequence_parallel = true;
  return Estimator(job).evaluate(layout);
}

}  // namespace

TEST_CASE("a calibrated cluster gives known blocks its own band and says so") {
  const Estimate without = estimate_of("Llama-3-70B", 0), with = estimate_of("Llama-3-70B", 0.03);
  CHECK(without.time_band == TimeBands::known);
  CHECK(with.time_band == doctest::Approx(0.03));
  CHECK(with.band_reason.find("calibrated") != std::string::npos);
  CHECK(without.band_reason.find("calibrated") == std::string::npos);
  CHECK(with.step_time_s == without.step_time_s);  // a band moves no prediction
}

TEST_CASE("a calibration to the uncalibrated band changes nothing; runs that scatter widen it") {
  CHECK(estimate_of("Llama-3-70B", TimeBands::known).time_band == doctest::Approx(TimeBands::known));
  CHECK(estimate_of("Llama-3-70B", 0.08).time_band == doctest::Approx(0.08));
  CHECK(estimate_of("Qwen3-VL-235B-A22B", TimeBands::known).time_band == doctest::Approx(TimeBands::new_block));
}

TEST_CASE("what a tower adds to the band stays after a calibration") {
  const Estimate without = estimate_of("Qwen3-VL-235B-A22B", 0), with = estimate_of("Qwen3-VL-235B-A22B", 0.02);
  CHECK(without.time_band == TimeBands::new_block);
  CHECK(with.time_band < without.time_band);
  CHECK(with.time_band > 0.9 * without.time_band);
  CHECK(with.band_reason.find("tower") != std::string::npos);
  CHECK(with.band_reason.find("calibrated") != std::string::npos);
}
