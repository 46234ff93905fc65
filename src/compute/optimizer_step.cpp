// SPDX-License-Identifier: Apache-2.0
// Computes:   time of the optimizer's own kernels in one step.
// Formula:    (update bytes * shard + gradient bytes * gradient buffer + 4 * quantised parameters) / memory bandwidth.
//             Update: gradient read; master weight, both moments read and written; parameter written; norm and clipping
//             pass over the gradient three times: 42 with fp32 state. The gradient buffer is zeroed once a step. Muon: 5
//             Newton-Schulz iterations of 4 big small^2 + 2 small^3 FLOP a matrix, as GEMMs in bf16. Host share: gradients
//             go down and parameters come up the host link, the host updates at its memory rate.
// Source:     Megatron-LM core/optimizer (distrib_optimizer.py, clip_grads.py, emerging optimizers' Muon); bytes counted
//             from the kernels that run.
// Valid when: fused multi-tensor kernels.
// Ignores:    launch cost of many small tensors (in the step's fixed overhead); overlap of the host's update with the next
//             forward.
// Checked by: tests/compute/optimizer_step_test.cpp.
#include "compute/optimizer_step.hpp"

#include <algorithm>

#include "compute/work_time.hpp"

namespace shardfit::compute {
namespace {

/// Times that a gradient is read or written beside the update: for the norm, and scaled by the clip factor. Counted in
/// Megatron-LM core/optimizer/clip_grads.py.
constexpr double kNormAndClip = 3;
/// mxfp8 and nvfp4 parameters are quantised anew from bf16 once a step: 2 read, row and column copies written.
constexpr double kQuantisedCopies = 4;
/// Newton-Schulz iterations of a step. Megatron-LM's default for Muon.
constexpr double kIterations = 5;
/// Adam on the host: fp32 gradient, weight and both moments read, the last three written.
constexpr double kHostBytesPerElement = 28;
/// What one of eight ranks gets of an x86 host's memory in torch's Adam. Measured: Qwen3-30B-A3B on 16 H100,
/// offload of 1.9e9 elements a rank adds 3.19 s a step, 0.31 s of which is transfer (Megatron-Bridge's report;
/// the fractions 0.25 to 0.75 agree within 12 %).
constexpr double kHostBandwidth = 19e9;

bool has_quantised_copies(Precision p) { return p == Precision::mxfp8 || p == Precision::nvfp4; }

double offload_time(double elements, double host_link) {
  if (elements <= 0) return 0;
  return elements * (kHostLinkBytesPerElement / host_link + kHostBytesPerElement / kHostBandwidth);
}

}  // namespace

double update_bytes_per_element(const OptimizerSpec& optimizer) {
  const bool aware = optimizer.precision_aware;
  const auto bytes = [aware](DType t) { return double(aware ? bytes_of(t) : bytes_of(DType::fp32)); };
  constexpr double kParameterWrite = 2;
  double sum = bytes(optimizer.main_grads_dtype) + 2 * bytes(optimizer.main_params_dtype) + kParameterWrite;
  switch (optimizer.kind) {
    case OptimizerKind::adam: sum += 2 * bytes(optimizer.exp_avg_dtype) + 2 * bytes(optimizer.exp_avg_sq_dtype); break;
    case OptimizerKind::muon:
    case OptimizerKind::sgd: sum += 2 * bytes(optimizer.exp_avg_dtype); break;  // momentum only
    case OptimizerKind::count: break;
  }
  return sum + kNormAndClip * bytes(optimizer.main_grads_dtype);
}

double optimizer_step_time(const OptimizerLoad& load, const OptimizerSpec& optimizer, Precision precision,
                           const Device& device) {
  const double on_gpu = load.shard_elements * (1 - load.offload_fraction);
  const double gradient_bytes = bytes_of(optimizer.grad_buffer_dtype);
  double bytes = on_gpu * update_bytes_per_element(optimizer) + load.gradient_elements * gradient_bytes;
  if (has_quantised_copies(precision)) bytes += load.parameter_elements * kQuantisedCopies;
  return bytes / device.memory_bandwidth + offload_time(load.shard_elements * load.offload_fraction, load.host_link);
}

double newton_schulz_time(double rows, double cols, double matrices, const Device& device) {
  const double small = std::min(rows, cols), big = std::max(rows, cols);
  block::Kernel gram, square, apply;
  gram.m = gram.n = small, gram.k = big;   // X X^T
  square.m = square.n = square.k = small;  // its square, for the quintic polynomial
  apply.m = small, apply.n = big, apply.k = small;
  const double iteration = gemm_time(gram, device) + gemm_time(square, device) + gemm_time(apply, device);
  return matrices * kIterations * iteration;
}

}  // namespace shardfit::compute
