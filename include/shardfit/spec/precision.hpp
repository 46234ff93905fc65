// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/base/names.hpp"

namespace shardfit {

/// What the linear layers compute in (Megatron's precision recipes). fp8 and fp4 runs keep bf16 activations between them.
enum class Precision { fp32, fp16, bf16, fp8_delayed, fp8_tensorwise, fp8_blockwise, mxfp8, nvfp4, count };
template <>
inline constexpr NameList<Precision> kNames<Precision> = {"fp32",           "fp16",          "bf16",  "fp8_delayed",
                                                          "fp8_tensorwise", "fp8_blockwise", "mxfp8", "nvfp4"};

/// How a number is stored.
enum class DType { fp32, bf16, fp16, fp8, count };
template <>
inline constexpr NameList<DType> kNames<DType> = {"fp32", "bf16", "fp16", "fp8"};

/// Bytes of one stored number.
constexpr int bytes_of(DType t) { return t == DType::fp32 ? 4 : t == DType::fp8 ? 1 : 2; }

/// fp8 or fp4 kinds: GEMM operands are quantised copies.
constexpr bool is_quantized(Precision p) { return p >= Precision::fp8_delayed && p < Precision::count; }

/// The type of parameters and of activations outside GEMMs: bf16 for the quantised kinds.
constexpr DType activation_dtype(Precision p) {
  return p == Precision::fp32 ? DType::fp32 : p == Precision::fp16 ? DType::fp16 : DType::bf16;
}

/// Kinds of tensor-core arithmetic that have a rate of their own. mxfp8 runs on cuBLASLt's per-tensor path but with a
/// factor of its own; fp8_block is DeepGEMM's 128-block kind.
enum class Math { fp32, bf16, fp8, mxfp8, fp8_block, nvfp4, count };
template <>
inline constexpr NameList<Math> kNames<Math> = {"fp32", "bf16", "fp8", "mxfp8", "fp8_block", "nvfp4"};

constexpr Math math_of(Precision p) {
  switch (p) {
    case Precision::fp32: return Math::fp32;
    case Precision::fp8_delayed:
    case Precision::fp8_tensorwise: return Math::fp8;
    case Precision::fp8_blockwise: return Math::fp8_block;
    case Precision::mxfp8: return Math::mxfp8;
    case Precision::nvfp4: return Math::nvfp4;
    default: return Math::bf16;
  }
}

}  // namespace shardfit
