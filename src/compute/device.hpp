// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/base/units.hpp"
#include "shardfit/spec/hardware.hpp"
#include "shardfit/spec/scenario.hpp"

namespace shardfit::compute {

/// The plain numbers that kernel formulas read: rates of one GPU, sustained, with the shared coefficients applied.
struct Device {
  double sms = 132;
  double hbm = 0;                       ///< bytes/s, datasheet
  double power_exponent = 0.03;         ///< of bf16 GEMM rates with size under a power cap; 0: burst timings
  EnumArray<Math, GemmCurve> gemm;      ///< burst curves
  EnumArray<Math, double> gemm_factor;  ///< sustained over burst, by kind
  double grouped_factor = 1, attention_factor = 1, attention_backward_factor = 1, fp8_attention_speedup = 1;
  struct Attention {
    int head_dim;
    double rate, seq_half;
  };
  Attention attention[4];
  int attention_curves = 0;
  double attention_tile_rows = 128;  ///< query rows of one sequence and head that an SM works on at a time
  double attention_tail = 0;         ///< of a wave of such tiles: time in which SMs run out of work
  /// Bytes/s reached
  double memory_bandwidth = 0, expert_activation_bandwidth = 0, permute_bandwidth = 0, quantize_bandwidth = 0;
  double nvfp4_quantize = 1;
  double scan_flops = 0;         ///< FLOP/s
  double kernel_gap = 0;         ///< s a kernel outside a graph
  double graphed_gap_share = 1;  ///< of that inside a graph
  double host_call = 0;          ///< s of a call of a module, function or hook, without its launches
  double host_launch = 0;        ///< s a launch
  double driver_launch = 0;      ///< s of a launch by a loop in C++
  double host_speed = 1;         ///< which both have in them already
};

Device make_device(const Job& job);

}  // namespace shardfit::compute
