// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/spec/precision.hpp"

namespace shardfit::block {

// What eager modules launch and call, counted in their source: Transformer Engine d0067d0d (2026-08-22), Megatron-LM
// d98e8a64 (2026-08-22). An entry of an operation's list is one launch unless it says otherwise, a collective is one, a
// linear is one call; the constants here and beside the modules are what the lists do not show.

/// One quantisation of a tensor. Per-tensor current scaling: the maximum cleared, taken, turned into a scale, and the cast
/// (common/recipe/current_scaling.cu, quantize_impl); delayed scaling and blocks: one cast; nvfp4: the maxima cleared and
/// taken after a Hadamard transform, a cast by rows, a transformed cast by columns (NVFP4Quantizer::quantize_impl).
constexpr double cast_launches(Precision p) {
  switch (p) {
    case Precision::fp8_tensorwise:
    case Precision::nvfp4: return 4;
    default: return 1;
  }
}

/// Rearranging the block scales of both operands before a GEMM: one launch an operand, for all experts of a grouped GEMM
/// together (pytorch/csrc/extensions/{gemm,swizzle}.cpp).
constexpr double scale_launches(Math math) { return math == Math::mxfp8 || math == Math::nvfp4 ? 2 : 0; }

/// Dot product of gradient and output, main kernel, cast of the query gradient (cuDNN, flash attention); dq cleared.
inline constexpr double kAttentionBackwardLaunches = 4;
/// Backward of a norm beside its main kernel: the reduction of the weight's gradient, the sum with the residual's gradient.
inline constexpr double kNormBackwardLaunches = 2;

/// Calls of a linear: its module forward; its autograd function backward; the hook of a parameter whose gradient is ready
/// (Megatron-LM core/distributed/distributed_data_parallel.py).
inline constexpr double kLinearForwardCalls = 1, kFunctionCalls = 1, kHookCalls = 1;

/// A quantised tensor is an object of several buffers that Python handles one by one. Forward of a linear makes the input's
/// and keeps it, sets the weight's usage and keeps it; backward restores both and sets their usage, makes the gradient's and
/// sets its usage (pytorch/quantized_tensor.py:prepare_for_saving, pytorch/module/{linear,grouped_linear}.py).
inline constexpr double kQuantizedForwardCalls = 4, kQuantizedBackwardCalls = 6;

/// A device value read by the host: a copy started, and waited for (two calls of the driver, as long as a launch each).
inline constexpr double kReadLaunches = 2;

/// A LoRA pair: module, two linears, dropout, scale and sum forward; the same functions and two hooks backward; scale, sum
/// and dropout launch (Megatron-Bridge peft/{lora_layers,utils}.py).
inline constexpr double kAdapterForwardCalls = 6, kAdapterBackwardCalls = 7, kAdapterLaunches = 3;

}  // namespace shardfit::block
