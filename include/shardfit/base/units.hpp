// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>

namespace shardfit {

/// A number with a dimension. Quantities of one dimension add and compare; the few products and quotients that make
/// sense across dimensions are written out below. Anything else does not compile.
template <class Dimension, class Rep>
struct Quantity {
  Rep value{};

  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep v) : value(v) {}

  friend constexpr auto operator<=>(const Quantity&, const Quantity&) = default;
  constexpr Quantity& operator+=(Quantity o) {
    value += o.value;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity o) {
    value -= o.value;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value + b.value); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value - b.value); }
  friend constexpr Quantity operator*(Quantity a, Rep n) { return Quantity(a.value * n); }
  friend constexpr Quantity operator*(Rep n, Quantity a) { return Quantity(a.value * n); }
  friend constexpr Quantity operator/(Quantity a, Rep n) { return Quantity(a.value / n); }
  /// Ratio of two like quantities, a plain number.
  friend constexpr double operator/(Quantity a, Quantity b) { return double(a.value) / double(b.value); }
};

using Bytes = Quantity<struct BytesDimension, std::int64_t>;
using Seconds = Quantity<struct SecondsDimension, double>;
using Flops = Quantity<struct FlopsDimension, double>;
using BytesPerSecond = Quantity<struct BytesPerSecondDimension, double>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondDimension, double>;

constexpr Seconds operator/(Bytes b, BytesPerSecond r) { return Seconds(double(b.value) / r.value); }
constexpr Seconds operator/(Flops f, FlopsPerSecond r) { return Seconds(f.value / r.value); }

inline constexpr std::int64_t kKiB = 1LL << 10;
inline constexpr std::int64_t kMiB = 1LL << 20;
inline constexpr std::int64_t kGiB = 1LL << 30;
inline constexpr double kGB = 1e9;

/// Makers from the units that specs are written in.
constexpr Bytes mib(double n) { return Bytes(std::int64_t(n * double(kMiB))); }
constexpr Bytes gib(double n) { return Bytes(std::int64_t(n * double(kGiB))); }
constexpr Seconds microseconds(double n) { return Seconds(n * 1e-6); }
constexpr Seconds milliseconds(double n) { return Seconds(n * 1e-3); }
constexpr BytesPerSecond gb_per_s(double n) { return BytesPerSecond(n * 1e9); }
constexpr FlopsPerSecond teraflops(double n) { return FlopsPerSecond(n * 1e12); }

/// Readers into the units that reports are written in.
constexpr double in_mib(Bytes b) { return double(b.value) / double(kMiB); }
constexpr double in_gib(Bytes b) { return double(b.value) / double(kGiB); }
constexpr double in_ms(Seconds s) { return s.value * 1e3; }
constexpr double in_us(Seconds s) { return s.value * 1e6; }

}  // namespace shardfit
