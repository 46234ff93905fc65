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

Kernel attention(int head_dim, double flops, double sequence, Pass pass = Pass::forward) {
  Kernel kernel;
  kernel.kind = KernelKind::attention;
  kernel.pass = pass;
  kernel.head_dim = head_dim;
  kernel.flops = flops;
  kernel.effective_sequence = sequence;
  return kernel;
}

double micro(const Kernel& kernel) { return attention_time(kernel, sample_device()) * 1e6; }

}  // namespace

TEST_CASE("causal attention on GB200 by the form") {
  // 32 heads of 128 at 8192: 2 * 32 * 256 * 8192 * 4096 FLOP at 1559 TF * 8192/(8192 + 606), and 12 us.
  CHECK(micro(attention(128, 549755813888.0, 8192)) == doctest::Approx(390.72).epsilon(1e-4));
  // a window of 128 at head dim 64: 224 visible keys, efficiency of a length of 512
  CHECK(micro(attention(64, 15032385536.0, 512)) == doctest::Approx(78.10).epsilon(1e-4));
}

TEST_CASE("head dim 0 is MLA, others take the nearest curve") {
  const double flops = 2.0 * 128 * (192 + 128) * 4096 * 2048;
  CHECK(micro(attention(0, flops, 4096)) == doctest::Approx(625.70).epsilon(1e-4));
  CHECK(micro(attention(72, 1e12, 4096)) == micro(attention(64, 1e12, 4096)));
  CHECK(micro(attention(80, 1e12, 4096)) == micro(attention(64, 1e12, 4096)));
  CHECK(micro(attention(160, 1e12, 4096)) == micro(attention(128, 1e12, 4096)));
  CHECK(micro(attention(192, 1e12, 4096)) != micro(attention(0, 1e12, 4096)));
}

TEST_CASE("backward runs at its own rate") {
  const double forward = micro(attention(128, 1e12, 8192)) - 12;
  CHECK(micro(attention(128, 1e12, 8192, Pass::dgrad)) - 36 == doctest::Approx(forward / 0.8));
}

TEST_CASE("fp8 is quicker as far as exponentials allow: wide heads and MLA, not narrow ones") {
  const auto gain = [](int head_dim) {
    Kernel kernel = attention(head_dim, 1e12, 8192);
    const double bf16 = micro(kernel) - 12;
    kernel.fp8 = true;
    return bf16 / (micro(kernel) - 12);
  };
  CHECK(gain(64) == doctest::Approx(1));
  CHECK(gain(128) == doctest::Approx(1));  // 764 TF at 64 are 1528 at 128, where bf16 has 1559
  CHECK(gain(256) == doctest::Approx(1.3));
  CHECK(gain(0) == doctest::Approx(1.3));
}

TEST_CASE("without a curve of narrow heads fp8 has the GPU's speed-up") {
  Device device = sample_device();
  device.attention[0] = {128, device.attention[1].rate, device.attention[1].seq_half};
  device.attention_curves = 1;
  Kernel kernel = attention(128, 1e12, 8192);
  const double bf16 = attention_time(kernel, device) - 12e-6;
  kernel.fp8 = true;
  CHECK(bf16 / (attention_time(kernel, device) - 12e-6) == doctest::Approx(1.3));
}

TEST_CASE("few heads times sequences leave SMs idle: four heads at 4096 fill 64 tiles of 152 SMs") {
  Kernel few = attention(128, 1e12, 4096), many = few;
  few.m = many.m = 4096;
  few.groups = 4;
  many.groups = 64;
  const double busy = micro(attention(128, 1e12, 4096)) - 12;  // nothing told of tiles
  CHECK(micro(few) - 12 == doctest::Approx(busy * (1 + 0.8 * 152 / 64)));
  CHECK(micro(many) - 12 == doctest::Approx(busy * (1 + 0.8 * 152 / 1024)));
}
