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

block::Work one_of_each() {
  block::Work work;
  for (std::size_t i = 0; i < kCount<KernelKind>; ++i) {
    Kernel kernel;
    kernel.kind = KernelKind(i);
    kernel.m = kernel.n = kernel.k = 2048;
    kernel.flops = kernel.bytes = 1e9;
    kernel.head_dim = 128;
    kernel.effective_sequence = 4096;
    work.kernels.push_back(kernel);
  }
  work.host = {0.5, 20, 1};
  return work;
}

}  // namespace

TEST_CASE("every kind of kernel lands in its own sum") {
  const Device d = sample_device();
  const block::Work work = one_of_each();
  const WorkTime t = time_of(work, d, Precision::bf16);
  CHECK(t.gemm == gemm_time(work.kernels[0], d));
  CHECK(t.experts == grouped_gemm_time(work.kernels[1], d));
  CHECK(t.attention == attention_time(work.kernels[2], d));
  CHECK(t.scan == scan_time(work.kernels[3], d));
  CHECK(t.memory == memory_time(work.kernels[4], d));
  CHECK(t.permute == permute_time(work.kernels[5], d));
  CHECK(t.quantize == quantize_time(work.kernels[6], d));
  CHECK(t.wgrad == 0);
  CHECK(t.syncs == 1);
}

TEST_CASE("weight gradients are counted twice over: in their kind and apart") {
  block::Work work = one_of_each();
  for (Kernel& kernel : work.kernels) kernel.pass = Pass::wgrad;
  const WorkTime t = time_of(work, sample_device(), Precision::bf16);
  CHECK(t.wgrad == doctest::Approx(t.gemm + t.experts));
}

TEST_CASE("host work: launches and units by precision") {
  const block::Work work = one_of_each();
  const Device d = sample_device();
  const auto host = [&](Precision p) { return time_of(work, d, p); };
  CHECK(host(Precision::bf16).kernels == 20);
  CHECK(host(Precision::bf16).host_units == doctest::Approx(0.5));
  CHECK(host(Precision::bf16).host_launches == doctest::Approx(20));
  CHECK(host(Precision::fp8_tensorwise).kernels == doctest::Approx(27));
  CHECK(host(Precision::fp8_tensorwise).host_units == doctest::Approx(0.5 * 1.25));
  CHECK(host(Precision::mxfp8).host_launches == doctest::Approx(25 * 1.25));
  CHECK(host(Precision::nvfp4).kernels == doctest::Approx(28));
  CHECK(host(Precision::nvfp4).host_launches == doctest::Approx(28 * 1.35));
}

TEST_CASE("sums add field by field") {
  const WorkTime once = time_of(one_of_each(), sample_device(), Precision::bf16);
  WorkTime twice = once;
  twice += once;
  CHECK(twice.gemm == 2 * once.gemm);
  CHECK(twice.permute == 2 * once.permute);
  CHECK(twice.host_units == 2 * once.host_units);
  CHECK(twice.syncs == 2 * once.syncs);
}
