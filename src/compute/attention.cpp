// SPDX-License-Identifier: Apache-2.0
// Computes: sustained time of core attention, forward or backward.
// Formula:  12 us + FLOP/R (1 + s0/s), R and s0 by head dimension and GPU; backward kernels at their own rate
//           factor and 2.5 times the floor. FLOP are those executed: half for a causal mask, backward 2.5x of
//           forward.
// Source:   fitted to aiconfigurator's prefill table (FA3 on Hopper, trtllm-gen on Blackwell; median error 3
//           to 15 %); R, s0, FP8 speed-up: hardware/*.json; backward factor: hardware/step-time.json.
// Valid when: enough heads times sequences to fill the SMs (above 16 or so).
// Ignores:  few heads (a quarter of the rate at 4 heads), sinks, dropout, merges of context-parallel partial
//           results.
// Checked by: tests/compute/attention_test.cpp.
#include <cmath>

#include "compute/work_time.hpp"

namespace shardfit::compute {
namespace {

/// Floor of one forward kernel, s. Measured: 11 to 13 us on every GPU since Hopper (aiconfigurator's prefill
/// table).
constexpr double kFloor = 12e-6;
/// Backward runs a pre-pass, the main kernel and a conversion of the query gradient. Assumed in proportion to
/// FLOP.
constexpr double kBackwardFloor = 2.5 * kFloor;
/// Curve used for a head dimension of 0 (MLA) where a GPU has no MLA curve: its wider head is nearest.
constexpr int kMlaStandIn = 192;

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

}  // namespace

double attention_time(const block::Kernel& kernel, const Device& device) {
  const bool backward = kernel.pass != block::Pass::forward;
  const Device::Attention& curve = curve_for(device, kernel.head_dim);
  double rate = curve.rate * device.attention_factor;
  if (kernel.fp8) rate *= device.fp8_attention_speedup;
  if (backward) rate *= device.attention_backward_factor;
  const double sequence = kernel.effective_sequence > 0 ? kernel.effective_sequence : 1;
  return (backward ? kBackwardFloor : kFloor) + kernel.flops / rate * (1 + curve.seq_half / sequence);
}

}  // namespace shardfit::compute
