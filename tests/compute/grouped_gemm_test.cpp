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

Kernel grouped(Math math, double groups, double rows, double n, double k, Pass pass = Pass::forward) {
  Kernel kernel;
  kernel.kind = KernelKind::grouped_gemm;
  kernel.math = math;
  kernel.pass = pass;
  kernel.groups = groups;
  kernel.m = rows, kernel.n = n, kernel.k = k;
  return kernel;
}

double micro(const Kernel& kernel) { return grouped_gemm_time(kernel, sample_device()) * 1e6; }

}  // namespace

TEST_CASE("grouped GEMM on GB200 by the form") {
  CHECK(micro(grouped(Math::bf16, 8, 1024, 3072, 4096)) == doctest::Approx(149.66).epsilon(1e-4));
  CHECK(micro(grouped(Math::fp8, 16, 256, 4096, 1536)) == doctest::Approx(46.09).epsilon(1e-3));
  Kernel wgrad = grouped(Math::bf16, 8, 1024, 3072, 4096, Pass::wgrad);
  wgrad.out_bytes = wgrad.accumulate_bytes = 4;
  CHECK(micro(wgrad) == doctest::Approx(234.67).epsilon(1e-4));
}

TEST_CASE("at the half-rate rows a group runs at half the rate") {
  const double flops = 2.0 * 64 * 190 * 8192 * 8192;
  Job job = sample_job();
  job.hardware.gpu.gemm[Math::bf16].k_half = 0;
  job.hardware.gpu.hbm_tb_per_s.value = 1e6;  // no memory arm
  const double t = grouped_gemm_time(grouped(Math::bf16, 64, 190, 8192, 8192), make_device(job)) - 10e-6;
  CHECK(flops / t == doctest::Approx(1687e12 * 1.06 / 2).epsilon(1e-6));
}

TEST_CASE("the same rows in more groups take longer") {
  CHECK(micro(grouped(Math::bf16, 32, 256, 3072, 4096)) > 1.2 * micro(grouped(Math::bf16, 8, 1024, 3072, 4096)));
}
