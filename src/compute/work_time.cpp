// SPDX-License-Identifier: Apache-2.0
// Computes:   device time of an operation's pass by kind of kernel, and its work on the host.
// Formula:    sums over its kernels; launches = those of its kernels, one a collective call, and what its lists do not
//             show.
// Source:     launch counts: block/launches.hpp and the blocks.
// Valid when: eager launches; what graphs remove is the caller's business (it knows the scopes).
// Ignores:    kernels that run side by side on two streams.
// Checked by: tests/compute/work_time_test.cpp.
#include "compute/work_time.hpp"

namespace shardfit::compute {
namespace {

void add(const block::Kernel& kernel, const Device& device, WorkTime& sum) {
  using block::KernelKind;
  const bool wgrad = kernel.pass == block::Pass::wgrad;
  switch (kernel.kind) {
    case KernelKind::gemm: {
      const double t = gemm_time(kernel, device);
      sum.gemm += t;
      if (wgrad) sum.wgrad += t;
      break;
    }
    case KernelKind::grouped_gemm: {
      const double t = grouped_gemm_time(kernel, device);
      sum.experts += t;
      if (wgrad) sum.wgrad += t;
      break;
    }
    case KernelKind::attention: sum.attention += attention_time(kernel, device); break;
    case KernelKind::scan: sum.scan += scan_time(kernel, device); break;
    case KernelKind::memory: sum.memory += memory_time(kernel, device); break;
    case KernelKind::expert_activation: sum.memory += expert_activation_time(kernel, device); break;
    case KernelKind::permute: sum.permute += permute_time(kernel, device); break;
    case KernelKind::quantize: sum.quantize += quantize_time(kernel, device); break;
    case KernelKind::count: break;
  }
}

}  // namespace

WorkTime& WorkTime::operator+=(const WorkTime& o) {
  gemm += o.gemm;
  experts += o.experts;
  attention += o.attention;
  scan += o.scan;
  memory += o.memory;
  permute += o.permute;
  quantize += o.quantize;
  wgrad += o.wgrad;
  kernels += o.kernels;
  looped += o.looped;
  calls += o.calls;
  syncs += o.syncs;
  idle += o.idle;
  serial += o.serial;
  return *this;
}

WorkTime time_of(const block::Work& work, const Device& device) {
  WorkTime sum;
  sum.kernels = work.host.kernels;
  for (const block::Kernel& kernel : work.kernels) {
    add(kernel, device, sum);
    sum.kernels += kernel.launches;
    sum.looped += kernel.looped;
  }
  for (const block::Traffic& traffic : work.traffic) sum.kernels += traffic.calls;
  sum.calls = work.host.calls;
  sum.syncs = work.host.syncs;
  sum.idle = work.host.idle_launches * device.host_launch;
  const block::SerialHost& serial = work.host.serial;
  sum.serial = serial.calls * device.host_call + serial.launches * device.host_launch +
               serial.list_us * 1e-6 / device.host_speed;
  return sum;
}

}  // namespace shardfit::compute
