// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "shardfit/base/units.hpp"

namespace shardfit::memory {

/// The nearest whole byte, halves away from zero, as std::llround has it: which is a call, and a sweep rounds dozens of
/// times a layout. `bytes` within the range of std::int64_t.
constexpr Bytes rounded_bytes(double bytes) {
  const auto whole = std::int64_t(bytes);
  const double rest = bytes - double(whole);
  return Bytes(whole + (rest >= 0.5) - (rest <= -0.5));
}

}  // namespace shardfit::memory
