// SPDX-License-Identifier: Apache-2.0
#include "io/assumed_split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "io/model_kinds.hpp"
#include "shardfit/spec/model_dims.hpp"

namespace shardfit::io {
namespace {

PipelineSplit layout_string(std::string text) {
  PipelineSplit split;
  split.kind = SplitKind::layout_string;
  split.text = std::move(text);
  return split;
}

std::string decoders(int n) { return n == 0 ? std::string() : fmt::format("t*{}", n); }

std::optional<PipelineSplit> near_even(int layers, int chunks, int mtp) {
  const int each = (layers + chunks - 1) / chunks, missing = each * chunks - layers;
  const int last = std::max(0, each - missing), first = each - std::max(0, missing - each);
  if (first < 0) return std::nullopt;
  std::string text = "E" + decoders(first) + "|";
  if (chunks > 2) text += fmt::format("(t*{}|)*{}", each, chunks - 2);
  text += decoders(last) + std::string(std::size_t(mtp), 'm') + "L";
  return layout_string(text);
}

}  // namespace

std::optional<PipelineSplit> assumed_split(const ModelSpec& model, const TrainingSpec& training,
                                           const Layout& layout) {
  const PipelineSplit& stated = layout.split;
  if (layout.pp == 1)
    return stated.kind == SplitKind::first_last ? std::optional(PipelineSplit{}) : std::nullopt;
  const int mtp = mtp_depth(model.text, training);
  if (stated.kind == SplitKind::layout_string && mtp == 0 && stated.text.find('m') != std::string::npos) {
    std::string text = stated.text;
    std::erase(text, 'm');
    return layout_string(text);
  }
  const int layers = model.text.num_hidden_layers, chunks = layout.pp * layout.vpp;
  if (stated.kind != SplitKind::uniform || layers % chunks == 0 || kinds_of(model).mamba) return std::nullopt;
  return near_even(layers, chunks, mtp);
}

}  // namespace shardfit::io
