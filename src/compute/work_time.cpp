// SPDX-License-Identifier: Apache-2.0
// Computes: device time of an operation's pass by kind of kernel, and its work on the host.
// Formula:  sums over its kernels; launches * precision factor; host units = (units + 0.006 launches) *
//           precision factor.
// Source:   factors fitted to published step times together with hardware/step-time.json.
// Valid when: eager launches; what graphs remove is the caller's business (it knows the scopes).
// Ignores:  kernels that run side by side on two streams.
// Checked by: tests/compute/work_time_test.cpp.
#include "compute/work_time.hpp"

namespace shardfit::compute {
namespace {

/// A quantised recipe launches casts, amax and scale updates beside the GEMMs, and runs longer Python modules.
struct PrecisionCost { double kernels, host; };

/// Assumed from launch counts of Transformer Engine modules (3 to 6 more kernels a linear), kept fixed in the
/// fit.
constexpr PrecisionCost precision_cost(Precision precision) {
  constexpr PrecisionCost kPlain{1, 1}, kTensorwise{1.35, 1.25}, kBlocks{1.25, 1.25}, kFp4{1.4, 1.35};
  switch (precision) {
    case Precision::fp8_delayed:
    case Precision::fp8_tensorwise: return kTensorwise;
    case Precision::fp8_blockwise:
    case Precision::mxfp8: return kBlocks;
    case Precision::nvfp4: return kFp4;
    default: return kPlain;
  }
}

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
  host_units += o.host_units;
  host_launches += o.host_launches;
  syncs += o.syncs;
  serial += o.serial;
  return *this;
}

WorkTime time_of(const block::Work& work, const Device& device, Precision precision) {
  WorkTime sum;
  for (const block::Kernel& kernel : work.kernels) add(kernel, device, sum);
  const PrecisionCost cost = precision_cost(precision);
  sum.kernels = work.host.kernels * cost.kernels;
  sum.host_units = work.host.units * cost.host;
  sum.host_launches = sum.kernels * cost.host;
  sum.syncs = work.host.syncs;
  sum.serial = work.host.serial_ms * 1e-3;
  return sum;
}

}  // namespace shardfit::compute
