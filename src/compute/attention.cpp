// SPDX-License-Identifier: Apache-2.0
// Computes:   sustained time of core attention, forward or backward.
// Formula:    12 us + FLOP/R (1 + s0/s)(1 + tail/waves), R and s0 by head dimension and GPU, waves of heads * sequences *
//             rows in tiles over the SMs; backward kernels at their own rate factor and three floors. FLOP are those
//             executed: half for a causal mask, backward 2.5x of forward. FP8 is quicker by its speed-up, up to where
//             exponentials bind.
// Source:     fitted to aiconfigurator's prefill table (FA3 on Hopper, trtllm-gen on Blackwell; median error 4 to 11 %, 90
//             % within 13 to 35 %, worst at head dimensions 64 and 256; `shardfit calibrate --kernels` repeats it); R, s0,
//             FP8 speed-up: hardware/*.json; backward factor: hardware/step-time.json.
// Valid when: sequences of 512 and more.
// Ignores:    sinks, dropout; whole waves of equal tiles without a causal mask.
// Checked by: tests/compute/attention_test.cpp.
#include <algorithm>
#include <cmath>

#include "compute/work_time.hpp"

namespace shardfit::compute {
namespace {

/// Floor of one forward kernel, s. Measured: 11 to 13 us on every GPU since Hopper (aiconfigurator's prefill
/// table).
constexpr double kFloor = 12e-6;
/// Backward runs a pre-pass, the main kernel and a conversion of the query gradient: three floors. Counted.
constexpr double kBackwardFloor = 3 * kFloor;
/// Curve used for a head dimension of 0 (MLA) where a GPU has no MLA curve: its wider head is nearest.
constexpr int kMlaStandIn = 192;
/// Mean width of MLA's heads, 192 of queries and keys, 128 of values: its FLOP a score over those of width 1.
constexpr double kMlaWidth = 160;
constexpr int kNarrow = 64;  ///< a head whose bf16 kernels exponentials bind

/// The curve of the nearest head dimension; head_dim 0 asks for MLA's own.
const Device::Attention& curve_for(const Device& device, int head_dim) {
  int wanted = head_dim;
  if (head_dim == 0) {
    for (int i = 0; i < device.attention_curves; ++i)
      if (device.attention[i].head_dim == 0) return device.attention[i];
    wanted = kMlaStandIn;
  }
  int best = -1;
  for (int i = 0; i < device.attention_curves; ++i) {
    const int have = device.attention[i].head_dim;
    if (have == 0) continue;
    if (best < 0 || std::abs(have - wanted) < std::abs(device.attention[best].head_dim - wanted)) best = i;
  }
  return device.attention[best < 0 ? 0 : best];
}

/// Wider heads fill an SM with half the rows: accumulators of [rows, head dimension] in fp32 must fit its registers (or tensor
/// memory). Assumed of FA3 and trtllm-gen; 128 and 192 are known to take whole tiles, 256 is what the curves call wider.
constexpr int kWidestWholeTile = 192;

/// Time over that of SMs which are busy throughout: a causal triangle's tiles differ in length, so that at the end, for a
/// part of a wave, SMs run out of them; below one wave there are not enough to begin with.
double tail_factor(const block::Kernel& kernel, const Device& device) {
  if (kernel.m <= 0) return 1;
  const double rows = device.attention_tile_rows * (kernel.head_dim > kWidestWholeTile ? 0.5 : 1);
  const double waves = kernel.groups * std::ceil(kernel.m / rows) / device.sms;
  return 1 + device.attention_tail / waves;
}

/// How much quicker FP8 is: the GPU's figure, but no kernel is quicker than its exponentials let it be. Bf16 kernels of
/// narrow heads already run at that limit (on Blackwell the rate of width 128 is twice that of 64), and it grows with the
/// width, as each score then stands for more FLOP. Without a curve of narrow heads the limit is not known.
double fp8_speedup(const Device::Attention& curve, const Device& device) {
  const Device::Attention& narrow = curve_for(device, kNarrow);
  if (narrow.head_dim != kNarrow) return device.fp8_attention_speedup;
  const double width = curve.head_dim == 0 ? kMlaWidth : curve.head_dim;
  return std::min(device.fp8_attention_speedup, std::max(1.0, narrow.rate / kNarrow * width / curve.rate));
}

}  // namespace

double attention_time(const block::Kernel& kernel, const Device& device) {
  const bool backward = kernel.pass != block::Pass::forward;
  const Device::Attention& curve = curve_for(device, kernel.head_dim);
  double rate = curve.rate * device.attention_factor;
  if (kernel.fp8) rate *= fp8_speedup(curve, device);
  if (backward) rate *= device.attention_backward_factor;
  const double sequence = kernel.effective_sequence > 0 ? kernel.effective_sequence : 1;
  return (backward ? kBackwardFloor : kFloor) +
         kernel.flops / rate * (1 + curve.seq_half / sequence) * tail_factor(kernel, device);
}

}  // namespace shardfit::compute
