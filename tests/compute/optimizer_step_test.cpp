// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "compute/optimizer_step.hpp"
#include "compute/work_time.hpp"
#include "sample_job.hpp"

using namespace shardfit;
using namespace shardfit::compute;

namespace {

OptimizerSpec bf16_moments() {
  OptimizerSpec o;
  o.precision_aware = true;
  o.exp_avg_dtype = o.exp_avg_sq_dtype = DType::bf16;
  return o;
}

}  // namespace

TEST_CASE("bytes an element: 42 with fp32 state, 34 with bf16 moments") {
  CHECK(update_bytes_per_element(OptimizerSpec{}) == 42);
  CHECK(update_bytes_per_element(bf16_moments()) == 34);
  OptimizerSpec momentum;
  momentum.kind = OptimizerKind::muon;
  CHECK(update_bytes_per_element(momentum) == 34);
}

TEST_CASE("moment types without the precision-aware optimizer change nothing") {
  OptimizerSpec o = bf16_moments();
  o.precision_aware = false;
  CHECK(update_bytes_per_element(o) == 42);
}

TEST_CASE("a step: shard, gradient buffer, quantised copies") {
  const Device d = sample_device();  // 3.85 TB/s
  OptimizerSpec o;
  o.grad_buffer_dtype = DType::bf16;
  const OptimizerLoad load{1e8, 1e9, 1e9, 0, 0};
  CHECK(optimizer_step_time(load, o, Precision::bf16, d) == doctest::Approx((42e8 + 2e9) / 3.85e12));
  CHECK(optimizer_step_time(load, o, Precision::fp8_tensorwise, d) == doctest::Approx((42e8 + 2e9) / 3.85e12));
  CHECK(optimizer_step_time(load, o, Precision::mxfp8, d) == doctest::Approx((42e8 + 6e9) / 3.85e12));
  CHECK(optimizer_step_time(load, o, Precision::nvfp4, d) == doctest::Approx((42e8 + 6e9) / 3.85e12));
}

TEST_CASE("offload trades HBM time for the host link and the host's memory") {
  const Device d = sample_device();
  OptimizerLoad load{1.9e9, 0, 0, 1, 55e9};
  const double all = optimizer_step_time(load, {}, Precision::bf16, d);
  CHECK(all == doctest::Approx(3.08).epsilon(0.05));  // measured 3.19 s: Qwen3-30B-A3B on 16 H100
  load.offload_fraction = 0.5;
  CHECK(optimizer_step_time(load, {}, Precision::bf16, d) == doctest::Approx(all / 2 + 0.95e9 * 42 / d.memory_bandwidth));
}

TEST_CASE("Newton-Schulz: five iterations of 4 big small^2 + 2 small^3") {
  const Device d = sample_device();
  const double t = newton_schulz_time(4096, 16384, 1, d);
  const double flops = 5 * (4.0 * 16384 * 4096 * 4096 + 2.0 * 4096 * 4096 * 4096);
  CHECK(t > flops / 1687e12);
  CHECK(t < 1.2 * flops / 1687e12);
  CHECK(newton_schulz_time(16384, 4096, 3, d) == doctest::Approx(3 * t));
}
