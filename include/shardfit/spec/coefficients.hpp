// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "shardfit/base/names.hpp"

namespace shardfit {

/// The fitted numbers of the step-time model, shared by all models, layouts and releases. Values, standard errors,
/// plausible ranges and fit quality are data: hardware/step-time.json. Kernel curves are apart, in the GPU's own file.
enum class Coefficient {
  bf16_rate,  ///< sustained factor of bf16 GEMMs against per-tensor fp8
  mxfp8_rate,
  nvfp4_rate,
  grouped_gemm_rate,        ///< grouped over dense GEMM rate at equal size
  attention_backward_rate,  ///< attention backward over forward rate
  memory_hopper,            ///< fraction of HBM bandwidth in element-wise, norm and permute kernels (and Ampere)
  memory_blackwell,
  expert_activation,      ///< time of routed experts' activations over that of their bytes as other kernels move them
  quantize_bandwidth,     ///< fraction of HBM bandwidth in quantise kernels
  nvfp4_quantize,         ///< nvfp4 quantise cost over its byte count
  scan_tflops,            ///< Mamba2 / gated DeltaNet scan TFLOP/s on 132 SMs
  host_call_us,           ///< host us per call (module forward, autograd function, gradient hook), without its launches
  host_launch_us,         ///< host us per kernel launch
  kernel_gap_us,          ///< device time lost per kernel outside a graph
  dispatch_nvlink,        ///< fraction of NVLink reached by HybridEP and DeepEP
  alltoall_rate,          ///< NCCL all-to-all over the expert libraries
  dispatch_network,       ///< fraction of the NIC in expert traffic across domains
  expert_overlap_hidden,  ///< part of expert traffic hidden by expert overlap
  permute_left,           ///< permute passes left beside HybridEP and DeepEP
  overlap_slowdown,       ///< slow-down of compute per second of hidden traffic
  step_overhead_ms,       ///< of a step outside the micro-batches
  count
};
template <>
inline constexpr NameList<Coefficient> kNames<Coefficient> = {
    "bf16_rate",
    "mxfp8_rate",
    "nvfp4_rate",
    "grouped_gemm_rate",
    "attention_backward_rate",
    "memory_hopper",
    "memory_blackwell",
    "expert_activation",
    "quantize_bandwidth",
    "nvfp4_quantize",
    "scan_tflops",
    "host_call_us",
    "host_launch_us",
    "kernel_gap_us",
    "dispatch_nvlink",
    "alltoall_rate",
    "dispatch_network",
    "expert_overlap_hidden",
    "permute_left",
    "overlap_slowdown",
    "step_overhead_ms",
};

struct FittedValue {
  double value = 0, standard_error = 0, low = 0, high = 0;  ///< low, high: plausible range
  std::string meaning;
};

struct TimeCoefficients {
  EnumArray<Coefficient, FittedValue> values;
  std::string source, fit_quality;
  double operator[](Coefficient c) const { return values[c].value; }
};

}  // namespace shardfit
