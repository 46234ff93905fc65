// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "compute/work_time.hpp"
#include "sample_job.hpp"

using namespace shardfit;
using namespace shardfit::compute;
using block::Kernel;
using block::KernelKind;
using block::Pass;

namespace {

Kernel gemm(Math math, double m, double n, double k) {
  Kernel kernel;
  kernel.kind = KernelKind::gemm;
  kernel.math = math;
  kernel.m = m, kernel.n = n, kernel.k = k;
  return kernel;
}

double micro(const Kernel& kernel) { return gemm_time(kernel, sample_device()) * 1e6; }

}  // namespace

TEST_CASE("burst times of GB200, worked from the form by hand") {
  // 4096^3: 256 tiles of 256x256 in 2 waves of 152: 304/256 = 1.1875; 512 of 256x128 in 4 waves: 608/512 *
  // 1.03 = 1.223. 81.47 us * (1 + 0.24 * 0.1875) * (1 + 17/4096) = 85.49 us; 100.7 MB / 6.545 TB/s = 15.4 us.
  // Under a power cap: (137.4 / 512 GFLOP)^0.03 = 0.9613 of the rate, so 85.49 / 0.9613 = 88.9 us.
  CHECK(micro(gemm(Math::bf16, 4096, 4096, 4096)) == doctest::Approx(2.4 + 88.6).epsilon(1e-3));
  CHECK(micro(gemm(Math::bf16, 8192, 28672, 8192)) == doctest::Approx(2163.59).epsilon(1e-4));
  CHECK(micro(gemm(Math::fp8, 4096, 14336, 4096)) == doctest::Approx(159.50).epsilon(1e-4));
  CHECK(micro(gemm(Math::nvfp4, 8192, 8192, 8192)) == doctest::Approx(191.91).epsilon(1e-4));
  CHECK(micro(gemm(Math::bf16, 512, 512, 512)) == doctest::Approx(2.829).epsilon(1e-3));
}

TEST_CASE("under a power cap a larger bf16 GEMM runs faster: measured sustained rates within 4 %") {
  // GB200, ai-dynamo/aiconfigurator: 1358 TFLOP/s around 512 GFLOP, 1452 around 8192 GFLOP and above.
  const auto rate = [](double side) { return 2 * side * side * side / (micro(gemm(Math::bf16, side, side, side)) * 1e6); };
  CHECK(rate(16384) / rate(6350) == doctest::Approx(1452.0 / 1358).epsilon(0.04));
}

TEST_CASE("a gradient GEMM pays for reading and writing its accumulator") {
  Kernel wgrad = gemm(Math::bf16, 4096, 14336, 8192);
  const double plain = micro(wgrad);
  wgrad.pass = Pass::wgrad;
  wgrad.out_bytes = 4;
  wgrad.accumulate_bytes = 4;
  CHECK(micro(wgrad) == doctest::Approx(567.28).epsilon(1e-4));
  CHECK(micro(wgrad) > plain);
}

TEST_CASE("one row beyond a full wave costs part of another") {
  // 152 tiles of 256x256 fill 152 SMs; with one row more the best choice is 5 waves of 128x128: 1.25 * 1.12 =
  // 1.4 of the work, of which 0.24 * 0.4 = 9.6 % are paid.
  const double full = micro(gemm(Math::bf16, 8 * 256, 19 * 256, 8192));
  const double over = micro(gemm(Math::bf16, 8 * 256 + 1, 19 * 256, 8192));
  CHECK(over > 1.05 * full);
  CHECK(over < 1.096 * full);
}

TEST_CASE("time never falls as work grows") {
  double before = 0;
  for (double m = 64; m <= 32768; m *= 2) {
    const double t = micro(gemm(Math::bf16, m, 8192, 8192));
    CHECK(t >= before);
    before = t;
  }
}

TEST_CASE("repeats cost their number, a slower clock only the compute arm") {
  Kernel kernel = gemm(Math::bf16, 2048, 2048, 2048);
  const double once = micro(kernel);
  kernel.groups = 3;
  CHECK(micro(kernel) == doctest::Approx(3 * once));

  Job slow = sample_job();
  slow.hardware.gpu.sustained_factor.value = 0.5;
  const Kernel compute_bound = gemm(Math::bf16, 16384, 16384, 16384), memory_bound = gemm(Math::bf16, 16, 16384, 16384);
  const Device d = make_device(slow);
  CHECK(gemm_time(compute_bound, d) == doctest::Approx(2 * gemm_time(compute_bound, sample_device())).epsilon(0.01));
  CHECK(gemm_time(memory_bound, d) < 1.35 * gemm_time(memory_bound, sample_device()));
}
