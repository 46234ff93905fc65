// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "shardfit/layout/layout_axis.hpp"
#include "shardfit/search/sweep.hpp"

namespace shardfit::search {

inline constexpr std::size_t kAxes = kCount<LayoutAxis>;

using Digits = EnumArray<LayoutAxis, std::uint32_t>;
using Strides = EnumArray<LayoutAxis, std::uint64_t>;

/// Number of values of each axis.
Digits radices(const SearchSpace& space);

/// Combinations that share an axis and all before it.
Strides strides(const Digits& radix);

/// Sets the fields that axis `axis` decides.
void apply_digit(const Scenario& scenario, LayoutAxis axis, std::uint32_t digit, Layout& layout);

/// Digits of an index, first axis most significant.
Digits digits_of(const Digits& radix, std::uint64_t index);

/// Throws InputError if an axis holds a size below 1, which no file can state.
void require_positive(const SearchSpace& space);

}  // namespace shardfit::search
