// SPDX-License-Identifier: Apache-2.0
#include "shardfit/base/names.hpp"

#include <algorithm>

namespace shardfit {
namespace {

/// Levenshtein distance, one row at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view word, std::span<const std::string_view> candidates) {
  // A name cut short ("Qwen3-235" of "Qwen3-235B-A22B") is a likelier slip than a few wrong letters.
  constexpr std::size_t kTelling = 3;
  std::optional<std::string> best;
  if (word.size() >= kTelling)
    for (std::string_view candidate : candidates)
      if (candidate.starts_with(word) && (!best || candidate.size() < best->size())) best = std::string(candidate);
  if (best) return best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = std::string(candidate);
    }
  }
  return best;
}

}  // namespace shardfit
