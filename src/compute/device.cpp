// SPDX-License-Identifier: Apache-2.0
// Computes:   the rates of one GPU that kernel formulas read.
// Formula:    tensor rate = burst curve * sustained factor * factor of the number type; memory rate = HBM * reached
//             fraction; permutation kernels half of HBM; scan rate by SM count.
// Source:     curves and sustained factor: the GPU's own file (hardware/*.json); shared factors: hardware/step-time.json.
// Valid when: the job's kind of arithmetic is one that the GPU has (the rules refuse others; a kind without a curve runs on
//             the nearest kind that has one).
// Ignores:    clocks that differ between GPUs of a job.
// Checked by: tests/compute/device_test.cpp.
#include "compute/device.hpp"

#include <algorithm>
#include <cassert>

namespace shardfit::compute {
namespace {

/// Permutations of token rows reach 0.50 (forward) and 0.51 (backward) of HBM. Measured on B200 (kernel tables of
/// SimuMax's B200 configuration, github MooreThreads/SimuMax 4dcaae51).
constexpr double kPermuteShare = 0.5;

/// Gap between kernels inside a graph over that outside. Assumed: held fixed where the others were fitted.
constexpr double kGraphedGapShare = 0.4;

/// SMs of the GPU that `scan_tflops` is stated for (H100 SXM). Datasheet.
constexpr double kScanReferenceSms = 132;

/// cudaLaunchKernel takes 1 to 3 us of the host, without what PyTorch does around it. Measured (public launch-overhead
/// microbenchmarks).
constexpr double kDriverLaunchUs = 2;

/// TF32 tensor rate over bf16 on every generation since Ampere. Datasheet. What Transformer Engine multiplies fp32 in
/// (common/gemm/cublaslt_gemm.cu: CUBLAS_COMPUTE_32F_FAST_TF32); torch keeps to fp32's own peak unless told otherwise, where
/// it is given.
constexpr double kTf32OverBf16 = 0.5;

/// How attention is cut into tiles, and what of a wave its causal triangle leaves idle at the end. Rows: FA3 and trtllm-gen.
/// Tails fitted to aiconfigurator's prefill tables together with the curves (hardware/*.json).
struct AttentionTiles {
  double rows, tail;
};
constexpr AttentionTiles attention_tiles(GpuGeneration generation) {
  return generation == GpuGeneration::blackwell ? AttentionTiles{256, 0.8} : AttentionTiles{128, 0.3};
}

/// The nvfp4 curves are of inference kernels that use Blackwell's first fp4 instruction everywhere; training kernels use
/// Blackwell Ultra's, half as fast again (peaks of the datasheets), where operands arrive fast enough. Fitted: the share of
/// that gain they reach.
constexpr double kUltraShare = 0.4;

double newer_fp4(const GpuSpec& gpu) {
  const double fp4 = gpu.peak_tflops[Math::nvfp4].value, fp8 = gpu.peak_tflops[Math::fp8].value;
  return fp4 > 0 && fp8 > 0 ? 1 + kUltraShare * std::max(0.0, fp4 / (2 * fp8) - 1) : 1;
}

double sustained(const Job& job, Math kind) {
  const TimeCoefficients& c = job.time;
  const double gpu = job.hardware.gpu.sustained_factor.value;
  switch (kind) {
    case Math::bf16:
    case Math::fp32: return gpu * c[Coefficient::bf16_rate];
    case Math::mxfp8: return gpu * c[Coefficient::mxfp8_rate];
    case Math::nvfp4: return gpu * c[Coefficient::nvfp4_rate] * newer_fp4(job.hardware.gpu);
    default: return gpu;
  }
}

/// A curve of another kind, scaled by the ratio of the peaks where both are known.
GemmCurve scaled(GemmCurve curve, double peak, double curve_peak, double otherwise) {
  curve.rate_tflops *= peak > 0 && curve_peak > 0 ? peak / curve_peak : otherwise;
  return curve;
}

/// The kind's own curve (fp32: TF32's share of bf16's, or the ratio of the peaks); else per-tensor fp8 for mxfp8, which
/// runs on the same library path; else bf16.
GemmCurve curve_of(const GpuSpec& gpu, Math kind, bool transformer_engine) {
  const GemmCurve own = gpu.gemm[kind];
  if (own.rate_tflops > 0) return own;
  if (kind == Math::mxfp8 && gpu.gemm[Math::fp8].rate_tflops > 0) return gpu.gemm[Math::fp8];
  if (kind == Math::fp32)
    return scaled(gpu.gemm[Math::bf16], transformer_engine ? 0 : gpu.peak_tflops[kind].value, gpu.peak_tflops[Math::bf16].value,
                  kTf32OverBf16);
  return gpu.gemm[Math::bf16];
}

}  // namespace

Device make_device(const Job& job) {
  const GpuSpec& gpu = job.hardware.gpu;
  const TimeCoefficients& c = job.time;
  constexpr double kTera = 1e12, kMicro = 1e-6;

  Device d;
  d.sms = gpu.sm_count.value;
  d.hbm = gpu.hbm_tb_per_s.value * kTera;
  for (std::size_t i = 0; i < kCount<Math>; ++i) {
    const Math kind = Math(i);
    d.gemm[kind] = curve_of(gpu, kind, job.stack.framework == Framework::megatron && job.stack.transformer_engine);
    d.gemm_factor[kind] = sustained(job, kind);
  }
  d.grouped_factor = c[Coefficient::grouped_gemm_rate];
  d.attention_factor = gpu.sustained_factor.value;
  d.attention_backward_factor = c[Coefficient::attention_backward_rate];
  d.fp8_attention_speedup = gpu.fp8_attention_speedup.value > 0 ? gpu.fp8_attention_speedup.value : 1;
  for (const AttentionCurve& curve : gpu.attention) {
    if (d.attention_curves == int(std::size(d.attention))) break;
    d.attention[d.attention_curves++] = {curve.head_dim, curve.rate_tflops * kTera, curve.seq_half};
  }
  const AttentionTiles tiles = attention_tiles(gpu.generation);
  d.attention_tile_rows = tiles.rows;
  d.attention_tail = tiles.tail;
  const Coefficient memory = gpu.generation == GpuGeneration::blackwell ? Coefficient::memory_blackwell
                                                                        : Coefficient::memory_hopper;
  d.memory_bandwidth = d.hbm * c[memory];
  d.expert_activation_bandwidth = d.memory_bandwidth / c[Coefficient::expert_activation];
  d.permute_bandwidth = d.hbm * kPermuteShare;
  d.quantize_bandwidth = d.hbm * c[Coefficient::quantize_bandwidth];
  d.nvfp4_quantize = c[Coefficient::nvfp4_quantize];
  d.scan_flops = c[Coefficient::scan_tflops] * kTera * d.sms / kScanReferenceSms;
  d.kernel_gap = c[Coefficient::kernel_gap_us] * kMicro;
  d.graphed_gap_share = kGraphedGapShare;
  d.host_speed = job.hardware.node.host_speed.value;
  d.host_call = kMicro * c[Coefficient::host_call_us] / d.host_speed;
  d.host_launch = kMicro * c[Coefficient::host_launch_us] / d.host_speed;
  d.driver_launch = kMicro * kDriverLaunchUs / d.host_speed;
  assert(d.sms > 0 && d.memory_bandwidth > 0 && d.quantize_bandwidth > 0 && d.scan_flops > 0);
  assert(d.gemm[Math::bf16].rate_tflops > 0 && d.attention_curves > 0);
  return d;
}

}  // namespace shardfit::compute
