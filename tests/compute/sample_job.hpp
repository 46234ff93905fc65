// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <utility>

#include "compute/device.hpp"

namespace shardfit::compute {

/// A job on a GPU with the burst curves of GB200 and with every shared factor at a round number, so that a
/// test can work its expectation out by hand.
inline Job sample_job() {
  Job job;
  GpuSpec& gpu = job.hardware.gpu;
  gpu.generation = GpuGeneration::blackwell;
  gpu.sm_count.value = 152;
  gpu.hbm_tb_per_s.value = 7.7;
  gpu.sustained_factor.value = 1;
  gpu.fp8_attention_speedup.value = 1.3;
  gpu.peak_tflops[Math::bf16].value = 2500;
  gpu.gemm[Math::bf16] = {1687, 2.4, 17, 0.24, 0, 0};
  gpu.gemm[Math::fp8] = {3241, 3.7, 171, 0.30, 0, 0};
  gpu.gemm[Math::fp8_block] = {3643, 5.5, 505, 0.67, 0, 0};
  gpu.gemm[Math::nvfp4] = {6569, 5.8, 462, 1.30, 0, 0};
  gpu.attention = {{64, 764, 1208, 0, 0}, {128, 1559, 606, 0, 0}, {256, 2023, 840, 0, 0}, {0, 1415, 1080, 0, 0}};
  job.hardware.node.cpu = HostCpu::grace;
  const std::initializer_list<std::pair<Coefficient, double>> values = {
      {Coefficient::bf16_rate, 1.0},
      {Coefficient::mxfp8_rate, 0.9},
      {Coefficient::nvfp4_rate, 1.0},
      {Coefficient::grouped_gemm_rate, 1.0},
      {Coefficient::attention_backward_rate, 0.8},
      {Coefficient::memory_hopper, 0.6},
      {Coefficient::memory_blackwell, 0.5},
      {Coefficient::expert_activation, 1.5},
      {Coefficient::quantize_bandwidth, 0.4},
      {Coefficient::nvfp4_quantize, 1.5},
      {Coefficient::scan_tflops, 66.0},
      {Coefficient::host_call_us, 15.0},
      {Coefficient::host_launch_us, 7.0},
      {Coefficient::kernel_gap_us, 3.0},
  };
  for (const auto& [coefficient, value] : values) job.time.values[coefficient].value = value;
  return job;
}

inline Device sample_device() { return make_device(sample_job()); }

}  // namespace shardfit::compute
