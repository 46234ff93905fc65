// SPDX-License-Identifier: Apache-2.0
// Computes:   sustained time of a dense GEMM, out[m, n] = in[m, k] x w[k, n].
// Formula:    t0 + (a^3 + b^3)^(1/3); a = 2mnk/R (1 + w q)(1 + k0/k), q = excess of the best tile's whole waves over the
//             work; b = bytes/(0.85 HBM). The compute arm alone is divided by the sustained factor: HBM does not throttle.
// Source:     form and constants fitted to burst timings of NVIDIA's aiconfigurator (095f58a5, trtllm 1.3.0rc20: 2,500
//             shapes a GPU and type, median error 4 to 7 %, 90 % within 11 to 21 %); R, t0, k0, w: hardware/*.json.
// Valid when: m, n, k >= 256 or so; below, the launch floor t0 rules.
// Ignores:    split-k and stream-k kernels, alignment below 16 elements, power shared with neighbours.
// Checked by: tests/compute/gemm_test.cpp.
#include <algorithm>
#include <cmath>

#include "compute/roofline.hpp"
#include "compute/work_time.hpp"

namespace shardfit::compute {
namespace {

/// An output tile and how much slower per element it is than the largest.
struct Tile {
  double m, n, slower;
};

/// Tiles that cuBLASLt picks among; penalties fitted to the same timings.
constexpr Tile kTiles[] = {{256, 256, 1.0}, {256, 128, 1.03}, {128, 128, 1.12}, {128, 64, 1.35}};

/// Fraction of HBM bandwidth that a memory-bound GEMM reaches. Fitted with the curves.
constexpr double kMemoryFraction = 0.85;

/// Under a power cap a larger bf16 GEMM runs faster: operands are read from farther away less often for the same work.
/// Sustained bf16 runs of ai-dynamo/aiconfigurator on GB200 give 1261, 1358, 1411 and 1452 TFLOP/s around 128, 512, 2048 and
/// 8192 GFLOP (B200: 1234 to 1358), where burst timings give one rate. Other types do not show it. Fitted, exponent 0.03.
double power_capped_factor(Math kind, double flops, double exponent) {
  if (kind != Math::bf16) return 1;
  constexpr double kReference = 512e9, kSmallest = 64e9, kLargest = 8192e9;
  return std::pow(std::clamp(flops, kSmallest, kLargest) / kReference, exponent);
}

/// SM time over useful work, less 1: partly filled tiles and a last wave that leaves SMs idle. 0 at best.
double wave_excess(double m, double n, double sms) {
  double best = HUGE_VAL;
  for (const Tile& tile : kTiles) {
    const double tiles = std::ceil(m / tile.m) * std::ceil(n / tile.n);
    const double work = std::ceil(tiles / sms) * sms * tile.m * tile.n;
    best = std::min(best, work / (m * n) * tile.slower);
  }
  return best - 1;
}

}  // namespace

double gemm_time(const block::Kernel& kernel, const Device& device) {
  constexpr double kTera = 1e12, kMicro = 1e-6;
  const GemmCurve& curve = device.gemm[kernel.math];
  const double m = std::max(kernel.m, 1.0), n = std::max(kernel.n, 1.0), k = std::max(kernel.k, 1.0);
  const double rate = curve.rate_tflops * kTera * device.gemm_factor[kernel.math] *
                      power_capped_factor(kernel.math, 2 * m * n * k, device.power_exponent);
  const double compute = 2 * m * n * k / rate * (1 + curve.wave * wave_excess(m, n, device.sms)) * (1 + curve.k_half / k);
  const double bytes = (m * k + k * n) * operand_bytes(kernel.math) + m * n * (kernel.out_bytes + kernel.accumulate_bytes);
  const double memory = bytes / (device.hbm * kMemoryFraction);
  return kernel.groups * (curve.launch_us * kMicro + soft_max(compute, memory));
}

}  // namespace shardfit::compute
