// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "compute/work_time.hpp"
#include "sample_job.hpp"

using namespace shardfit;
using namespace shardfit::compute;

TEST_CASE("bytes over the bandwidth that a kind of kernel reaches") {
  const Device d = sample_device();
  block::Kernel kernel;
  kernel.bytes = 3.85e9;
  CHECK(memory_time(kernel, d) == doctest::Approx(1e-3));
  CHECK(expert_activation_time(kernel, d) == doctest::Approx(1.5e-3));  // the sample's factor
  CHECK(permute_time(kernel, d) == doctest::Approx(1e-3));              // half of HBM, whatever element-wise kernels reach
  kernel.bytes = 3.08e9;
  CHECK(quantize_time(kernel, d) == doctest::Approx(1e-3));
  kernel.fp4_cast = true;
  CHECK(quantize_time(kernel, d) == doctest::Approx(1.5e-3));
}

TEST_CASE("a scan by its FLOP and the SMs") {
  block::Kernel kernel;
  kernel.flops = 66e9 * 152 / 132;
  CHECK(scan_time(kernel, sample_device()) == doctest::Approx(1e-3));
}
