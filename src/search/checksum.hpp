// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include "shardfit/estimate/estimate.hpp"

namespace shardfit {

/// A sum over layouts and their numbers, to the last bit of each, that does not depend on their order: equal sums mean that
/// two ways of evaluating a space agree on every layout.
class Checksum {
 public:
  /// `index`: number of the layout. Tokens/s follow from the step time and are left out.
  constexpr void add(std::uint64_t index, const Quick& quick) {
    std::uint64_t h = mixed(index);
    for (const std::uint64_t field : {std::bit_cast<std::uint64_t>(quick.step_time_s), std::uint64_t(quick.peak.value),
                                      std::uint64_t(quick.peak_stage) << 32 | std::uint64_t(quick.peak_moment) << 16 |
                                          std::uint64_t(quick.bottleneck) << 1 | std::uint64_t(quick.fits)})
      h = mixed(h ^ field);
    sum_ += h;
  }
  constexpr std::uint64_t value() const { return sum_; }
  friend constexpr bool operator==(const Checksum&, const Checksum&) = default;

 private:
  /// splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
  static constexpr std::uint64_t mixed(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
  std::uint64_t sum_ = 0;
};

}  // namespace shardfit
