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
  work.host = {3, 20, 1};
  return work;
}

}  // namespace

TEST_CASE("every kind of kernel lands in its own sum") {
  const Device d = sample_device();
  const block::Work work = one_of_each();
  const WorkTime t = time_of(work, d);
  const auto kernel = [&work](KernelKind kind) { return work.kernels[std::size_t(kind)]; };
  CHECK(t.gemm == gemm_time(kernel(KernelKind::gemm), d));
  CHECK(t.experts == grouped_gemm_time(kernel(KernelKind::grouped_gemm), d));
  CHECK(t.attention == attention_time(kernel(KernelKind::attention), d));
  CHECK(t.scan == scan_time(kernel(KernelKind::scan), d));
  CHECK(t.memory ==
        memory_time(kernel(KernelKind::memory), d) + expert_activation_time(kernel(KernelKind::expert_activation), d));
  CHECK(t.permute == permute_time(kernel(KernelKind::permute), d));
  CHECK(t.quantize == quantize_time(kernel(KernelKind::quantize), d));
  CHECK(t.wgrad == 0);
  CHECK(t.syncs == 1);
}

TEST_CASE("weight gradients are counted twice over: in their kind and apart") {
  block::Work work = one_of_each();
  for (Kernel& kernel : work.kernels) kernel.pass = Pass::wgrad;
  const WorkTime t = time_of(work, sample_device());
  CHECK(t.wgrad == doctest::Approx(t.gemm + t.experts));
}

TEST_CASE("launches: of kernels, of collectives, and what the lists do not show") {
  block::Work work = one_of_each();
  const double kinds = double(work.kernels.size());
  CHECK(time_of(work, sample_device()).kernels == 20 + kinds);
  work.kernels.front().launches = 3;
  work.kernels.front().looped = 2;
  work.traffic.resize(1);
  work.traffic.front().calls = 2;
  const WorkTime t = time_of(work, sample_device());
  CHECK(t.kernels == 20 + kinds + 2 + 2);
  CHECK(t.looped == 2);
  CHECK(t.calls == 3);
}

TEST_CASE("sums add field by field") {
  const WorkTime once = time_of(one_of_each(), sample_device());
  WorkTime twice = once;
  twice += once;
  CHECK(twice.gemm == 2 * once.gemm);
  CHECK(twice.permute == 2 * once.permute);
  CHECK(twice.calls == 2 * once.calls);
  CHECK(twice.syncs == 2 * once.syncs);
}
