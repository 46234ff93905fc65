// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "calibrate/kernel_points.hpp"
#include "calibrate/shared_fit.hpp"
#include "shardfit/spec/hardware.hpp"

namespace shardfit::calibrate {

/// A curve's number before (as its file has it) and after a refit to the points.
struct CurveValue {
  std::string name;
  double shipped = 0, refitted = 0;
};

/// One kernel curve against its points.
struct KernelFit {
  std::string family, system, kind;  ///< "gemm" | "grouped_gemm" | "attention"; hardware; "bf16", "wgrad", "head_dim 128"
  ErrorStats shipped, refitted;      ///< of predicted over measured
  std::vector<CurveValue> values;    ///< empty: nothing of this family is refitted
};

/// Whether a family meets the limits that kernel curves are held to: median within 8 %, 90 % within 20 %.
bool within_limits(const ErrorStats& errors);

/// Holds every curve of `systems` against the points of its GPU, and refits those of GEMM (rate, launch, k_half, wave; and the
/// rate of the cast that some tables include) and of attention (rate, seq_half). Grouped GEMM and GPUs without a curve
/// are held only. Burst timings: no sustained factor applies.
std::vector<KernelFit> fit_kernels(const KernelPoints& points, const std::vector<HardwareSpec>& systems);

}  // namespace shardfit::calibrate
