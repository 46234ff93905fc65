// SPDX-License-Identifier: Apache-2.0
#include "memory/state_widths.hpp"

// Computes:   bytes an element of weights, gradients, master weights and moments, and of the forms of a quantised weight.
// Formula:    dtypes of the training block; what the precision-aware optimizer and fp8 change is written at each function.
// Source:     Megatron-LM core/optimizer/optimizer_config.py, distrib_optimizer.py; Transformer Engine FusedAdam,
//             pytorch/tensor/*.py.
// Valid when: the layout passes the rules.
// Ignores:    weights that stay in bf16, which are none of the linear counts.
// Checked by: tests/memory/static_state_test.cpp.

namespace shardfit::memory {

namespace {

constexpr int kFp32Bytes = 4;
/// A bf16 weight and a 2-byte remainder make an fp32 master weight. Source: Transformer Engine FusedAdam,
/// store_param_remainders (the optimizer that offloads keeps whole fp32 ones). Kind: read.
constexpr int kRemainderBytes = 2;

/// In fp8 other than with delayed scaling the distributed optimizer makes fp32 master weights and gradients itself,
/// precision-aware or not. Source: Megatron-LM core/optimizer/optimizer_config.py,
/// use_precision_aware_optimizer_no_fp8_or_ds_fp8.
bool makes_masters(const StaticInputs& in) {
  const bool fp8 = in.precision == Precision::fp8_tensorwise || in.precision == Precision::fp8_blockwise ||
                   in.precision == Precision::mxfp8;
  return fp8 && in.optimizer.main_params_dtype == DType::fp32 && in.optimizer_offload == 0;
}

/// Torch's optimizers step the parameters themselves, so that there is no master copy beside them, sharded or not; ZeRO 1 and
/// 2 of other tools have one. Source: torch.optim, torch.distributed.fsdp; DeepSpeed runtime/bf16_optimizer.py.
bool keeps_torch_state(const StaticInputs& in) {
  if (in.framework == Framework::torch_fsdp2) return true;
  return in.framework != Framework::megatron && in.sharding == Sharding::full_torch;
}

}  // namespace

Widths widths(const StaticInputs& in) {
  const OptimizerSpec& o = in.optimizer;
  Widths w;
  w.weight = bytes_of(activation_dtype(in.precision));
  w.gradient = bytes_of(o.grad_buffer_dtype);
  w.muon = o.kind == OptimizerKind::muon;
  const bool torch_only = keeps_torch_state(in);
  if (w.weight == kFp32Bytes) w.master = w.master_quantized = 0;
  if (o.precision_aware || torch_only) {
    const int main = bytes_of(o.main_params_dtype);
    const bool remainder = o.main_params_dtype == DType::fp32 && in.sharding == Sharding::optimizer &&
                           in.optimizer_offload == 0 && !makes_masters(in);
    if (w.weight != kFp32Bytes) w.master = remainder ? kRemainderBytes : main, w.master_quantized = main;
    w.exp_avg = bytes_of(o.exp_avg_dtype);
    w.exp_avg_sq = bytes_of(o.exp_avg_sq_dtype);
  }
  if (torch_only) w.weight = bytes_of(o.main_params_dtype), w.master = w.master_quantized = 0;
  if (o.kind == OptimizerKind::sgd) w.exp_avg_sq = 0;
  const int main_grad = o.precision_aware && !makes_masters(in) ? bytes_of(o.main_grads_dtype) : kFp32Bytes;
  const bool copies = !torch_only && w.weight != kFp32Bytes && w.gradient != main_grad;
  if (copies && in.sharding != Sharding::full_torch) w.gradient_copy = main_grad;
  return w;
}

QuantizedForms quantized_forms(Precision precision, bool param_gather, GpuGeneration generation, bool transpose_cache) {
  // Row-wise and column-wise forms with their scales. Source: Transformer Engine pytorch/tensor/*.py. Kind:
  // read.
  constexpr double kBlockScales = 4.0 / (128 * 128), kMxScales = 1.0 / 32, kNvfp4Bytes = 0.5, kNvfp4Scales = 1.0 / 16;
  // Blackwell multiplies per-tensor fp8 operands of any layout, so it needs no transposed copy; before, it is made anew
  // for each backward where the cache is off (disable_parameter_transpose_cache).
  const double per_tensor = generation == GpuGeneration::blackwell || !transpose_cache ? 1 : 2;
  switch (precision) {
    case Precision::fp8_delayed:
    case Precision::fp8_tensorwise: return {!param_gather, per_tensor};
    case Precision::fp8_blockwise: return {!param_gather, 2 * (1 + kBlockScales)};
    case Precision::mxfp8: return {!param_gather, 2 * (1 + kMxScales)};
    case Precision::nvfp4: return {!param_gather, 2 * (kNvfp4Bytes + kNvfp4Scales)};
    default: return {true, 0};
  }
}

}  // namespace shardfit::memory
