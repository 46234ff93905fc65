// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "block/op.hpp"
#include "compute/device.hpp"

namespace shardfit::compute {

/// Device and host time of one operation's forward or backward on one micro-batch, by kind of kernel.
struct WorkTime {
  double gemm = 0, experts = 0, attention = 0, scan = 0, memory = 0, permute = 0, quantize = 0;  ///< s
  double wgrad = 0;    ///< of gemm and experts, the weight-gradient part (can be delayed)
  double kernels = 0;  ///< launches: kernels, collectives, and what the lists do not show
  double looped = 0;   ///< of those, launches by a loop in C++
  double calls = 0;    ///< of modules, functions and hooks, which the host pays for beside the launches
  double syncs = 0;
  double idle = 0;    ///< s of launches that the device waits for after a value was read
  double serial = 0;  ///< s of host loops while the device idles
  WorkTime& operator+=(const WorkTime& o);
};

/// Sustained time of one kernel, s. One function a kind, in files of that name.
double gemm_time(const block::Kernel& kernel, const Device& device);
double grouped_gemm_time(const block::Kernel& kernel, const Device& device);
double attention_time(const block::Kernel& kernel, const Device& device);
double scan_time(const block::Kernel& kernel, const Device& device);
double memory_time(const block::Kernel& kernel, const Device& device);
double expert_activation_time(const block::Kernel& kernel, const Device& device);
double permute_time(const block::Kernel& kernel, const Device& device);
double quantize_time(const block::Kernel& kernel, const Device& device);

WorkTime time_of(const block::Work& work, const Device& device);

}  // namespace shardfit::compute
