// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace shardfit {

/// Number of enumerators; every enum that indexes an array or a set ends in `count`.
template <class E>
inline constexpr std::size_t kCount = static_cast<std::size_t>(E::count);

/// A set of enumerators in one word: copyable, comparable, no allocation.
template <class E>
class EnumSet {
 public:
  constexpr EnumSet() = default;
  constexpr EnumSet(std::initializer_list<E> members) {
    for (E e : members) insert(e);
  }
  static constexpr EnumSet from_bits(std::uint32_t bits) {
    EnumSet s;
    s.bits_ = bits;
    return s;
  }
  constexpr std::uint32_t bits() const { return bits_; }
  constexpr void insert(E e) { bits_ |= bit(e); }
  constexpr void erase(E e) { bits_ &= ~bit(e); }
  constexpr bool contains(E e) const { return (bits_ & bit(e)) != 0; }
  constexpr bool contains_all(EnumSet o) const { return (bits_ & o.bits_) == o.bits_; }
  constexpr bool intersects(EnumSet o) const { return (bits_ & o.bits_) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr int size() const { return std::popcount(bits_); }
  friend constexpr EnumSet operator|(EnumSet a, EnumSet b) { return from_bits(a.bits_ | b.bits_); }
  friend constexpr EnumSet operator&(EnumSet a, EnumSet b) { return from_bits(a.bits_ & b.bits_); }
  friend constexpr bool operator==(EnumSet, EnumSet) = default;

 private:
  static constexpr std::uint32_t bit(E e) { return 1u << static_cast<unsigned>(e); }
  std::uint32_t bits_ = 0;
};

/// An array with one slot an enumerator.
template <class E, class T>
struct EnumArray : std::array<T, kCount<E>> {
  using Base = std::array<T, kCount<E>>;
  constexpr T& operator[](E e) { return Base::operator[](static_cast<std::size_t>(e)); }
  constexpr const T& operator[](E e) const { return Base::operator[](static_cast<std::size_t>(e)); }
};

}  // namespace shardfit
