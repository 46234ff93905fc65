// SPDX-License-Identifier: Apache-2.0
// Computes:   sustained time of one grouped GEMM pass over local experts of m rows each.
// Formula:    10 us + (a^3 + b^3)^(1/3); a = FLOP/(R c) (1 + m0/m)(1 + k0/k), b = bytes/(0.8 HBM). Forward and dgrad: c =
//             1.06, m0 = 190; wgrad (contraction over the rows, no k0): c = 0.94, m0 = 550. m0 grows with the share of time
//             that a small group cannot fill: x1.3 for fp8 kinds, x1.8 for nvfp4.
// Source:     fitted to SimuMax's B200 training table (4dcaae51: 120 points of forward, dgrad, wgrad by rows a group,
//             relative to its dense GEMMs: its board is power-capped, so times come out 28 to 34 % short for forward and
//             dgrad and 19 % off for wgrad, which the grouped_gemm_rate of step times takes up) and to the expert-MLP table
//             of aiconfigurator for the number types; R and k0: hardware/*.json.
// Valid when: groups have about the same rows; m is the rows of a group in every pass, n x k the weight's shape (wgrad: the
//             output).
// Ignores:    imbalance between a rank's own experts, the nvfp4 tables' kernel choice (12 to 28 % median error).
// Checked by: tests/compute/grouped_gemm_test.cpp.
#include <algorithm>

#include "compute/roofline.hpp"
#include "compute/work_time.hpp"

namespace shardfit::compute {
namespace {

constexpr double kForwardRate = 1.06, kWgradRate = 0.94;        // fitted: over the dense curve's rate
constexpr double kForwardRowsHalf = 190, kWgradRowsHalf = 550;  // fitted: rows at which half the rate is reached
constexpr double kFp8Rows = 1.3, kFp4Rows = 1.8;                // fitted
constexpr double kMemoryFraction = 0.8;                         // fitted: of HBM
constexpr double kLaunch = 10e-6;                               // fitted, s

double rows_factor(Math kind) {
  switch (kind) {
    case Math::fp8:
    case Math::mxfp8:
    case Math::fp8_block: return kFp8Rows;
    case Math::nvfp4: return kFp4Rows;
    default: return 1;
  }
}

}  // namespace

double grouped_gemm_time(const block::Kernel& kernel, const Device& device) {
  constexpr double kTera = 1e12;
  const bool wgrad = kernel.pass == block::Pass::wgrad;
  const GemmCurve& curve = device.gemm[kernel.math];
  const double m = std::max(kernel.m, 1.0), n = kernel.n, k = std::max(kernel.k, 1.0);

  const double rate = curve.rate_tflops * kTera * device.gemm_factor[kernel.math] * device.grouped_factor *
                      (wgrad ? kWgradRate : kForwardRate);
  const double rows_half = (wgrad ? kWgradRowsHalf : kForwardRowsHalf) * rows_factor(kernel.math);
  const double depth = wgrad ? 1 : 1 + curve.k_half / k;
  const double compute = 2 * kernel.groups * m * n * k / rate * (1 + rows_half / m) * depth;

  const double operand = operand_bytes(kernel.math);
  const double out = kernel.out_bytes + kernel.accumulate_bytes;
  const double bytes = wgrad ? n * k * out + m * (n + k) * operand : (n * k + m * k) * operand + m * n * out;
  const double memory = kernel.groups * bytes / (device.hbm * kMemoryFraction);
  return kLaunch + soft_max(compute, memory);
}

}  // namespace shardfit::compute
