// SPDX-License-Identifier: Apache-2.0
#include "layout/near_even_split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace shardfit::layout {
namespace {

std::string decoders(int n) { return n == 0 ? std::string() : fmt::format("t*{}", n); }

}  // namespace

std::optional<PipelineSplit> near_even_split(int layers, int chunks, int mtp) {
  const int each = (layers + chunks - 1) / chunks, missing = each * chunks - layers;
  const int last = std::max(0, each - missing), first = each - std::max(0, missing - each);
  if (first < 0) return std::nullopt;
  std::string text = "E" + decoders(first) + "|";
  if (chunks > 2) text += fmt::format("(t*{}|)*{}", each, chunks - 2);
  text += decoders(last) + std::string(std::size_t(mtp), 'm') + "L";
  PipelineSplit split;
  split.kind = SplitKind::layout_string;
  split.text = std::move(text);
  return split;
}

}  // namespace shardfit::layout
