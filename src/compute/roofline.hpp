// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "shardfit/spec/precision.hpp"

namespace shardfit::compute {

/// Bytes of one GEMM operand element, scales included. mxfp8: one E8M0 scale a 32; fp8_block: one fp32 scale a
/// 128; nvfp4: half a byte and one E4M3 scale a 16. Source: OCP microscaling formats 1.0; Transformer Engine
/// recipes.
constexpr double operand_bytes(Math kind) {
  constexpr double kMxScale = 1.0 / 32, kBlockScale = 4.0 / 128, kFp4 = 0.5 + 1.0 / 16;
  switch (kind) {
    case Math::fp32: return 4;
    case Math::fp8: return 1;
    case Math::mxfp8: return 1 + kMxScale;
    case Math::fp8_block: return 1 + kBlockScale;
    case Math::nvfp4: return kFp4;
    default: return 2;
  }
}

/// Time of a kernel that computes for `a` and moves bytes for `b`, both alone: (a^3 + b^3)^(1/3). Between the
/// longer of the two (perfect overlap) and their sum; 26 % above the longer where they are equal. The exponent
/// is fitted: with it 2,500 shapes a GPU and type have the smallest median error of the forms tried.
inline double soft_max(double a, double b) { return std::cbrt(a * a * a + b * b * b); }

}  // namespace shardfit::compute
