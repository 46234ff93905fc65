// SPDX-License-Identifier: Apache-2.0
#include "layout/near_even_split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace shardfit::layout {
namespace {

std::string decoders(int n) { return n == 0 ? std::string() : fmt::format("t*{}", n); }

PipelineSplit of_text(std::string text) {
  PipelineSplit split;
  split.kind = SplitKind::layout_string;
  split.text = std::move(text);
  return split;
}

/// Where first and last chunk cannot make up for all the others: those that hold one layer more come after the first.
std::optional<PipelineSplit> spread(int layers, int chunks, const std::string& mtp) {
  const int fewer = layers / chunks, longer = layers % chunks, shorter = chunks - longer - 2;
  if (fewer == 0 || shorter < 0) return std::nullopt;
  std::string text = fmt::format("E{}|(t*{}|)*{}", decoders(fewer), fewer + 1, longer);
  if (shorter > 0) text += fmt::format("(t*{}|)*{}", fewer, shorter);
  return of_text(text + decoders(fewer) + mtp + "L");
}

}  // namespace

std::optional<PipelineSplit> near_even_split(int layers, int chunks, int mtp) {
  const int each = (layers + chunks - 1) / chunks, missing = each * chunks - layers;
  const int last = std::max(0, each - missing), first = each - std::max(0, missing - each);
  const std::string depths(std::size_t(mtp), 'm');
  if (first < 0) return spread(layers, chunks, depths);
  std::string text = "E" + decoders(first) + "|";
  if (chunks > 2) text += fmt::format("(t*{}|)*{}", each, chunks - 2);
  return of_text(text + decoders(last) + depths + "L");
}

}  // namespace shardfit::layout
