// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shardfit/base/enum_set.hpp"

namespace shardfit {

/// One word for each enumerator of E.
template <class E>
using NameList = std::array<std::string_view, kCount<E>>;

/// The spelling of each enumerator, in order; specialised beside the enum: `template <> inline constexpr NameList<E>
/// kNames<E> = {...}`. The same words stand in JSON, CSV, flags and reports.
template <class E>
inline constexpr std::array<std::string_view, 0> kNames{};

template <class E>
constexpr std::string_view name_of(E e) {
  return kNames<E>[static_cast<std::size_t>(e)];
}

template <class E>
constexpr std::optional<E> parse_name(std::string_view text) {
  for (std::size_t i = 0; i < kNames<E>.size(); ++i)
    if (kNames<E>[i] == text) return static_cast<E>(i);
  return std::nullopt;
}

template <class E>
std::vector<std::string_view> all_names() {
  return {kNames<E>.begin(), kNames<E>.end()};
}

/// "a+b" for a set; "none" if empty.
template <class E>
std::string join_names(EnumSet<E> set, std::string_view separator = "+") {
  std::string text;
  for (std::size_t i = 0; i < kCount<E>; ++i) {
    const E e = static_cast<E>(i);
    if (!set.contains(e)) continue;
    if (!text.empty()) text += separator;
    text += name_of(e);
  }
  return text.empty() ? "none" : text;
}

/// The candidate nearest to `word` by edit distance, if near enough to be a likely slip (at most a third of its length,
/// at least 1); for "did you mean".
std::optional<std::string> nearest_name(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace shardfit
