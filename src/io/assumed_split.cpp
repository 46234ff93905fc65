// SPDX-License-Identifier: Apache-2.0
#include "io/assumed_split.hpp"

#include <string>

#include "io/model_kinds.hpp"
#include "layout/near_even_split.hpp"
#include "shardfit/spec/model_dims.hpp"

namespace shardfit::io {
namespace {

PipelineSplit layout_string(std::string text) {
  PipelineSplit split;
  split.kind = SplitKind::layout_string;
  split.text = std::move(text);
  return split;
}

}  // namespace

std::optional<PipelineSplit> assumed_split(const ModelSpec& model, const TrainingSpec& training, const Layout& layout) {
  const PipelineSplit& stated = layout.split;
  if (layout.pp == 1) return stated.kind == SplitKind::first_last ? std::optional(PipelineSplit{}) : std::nullopt;
  const int mtp = mtp_depth(model.text, training);
  if (stated.kind == SplitKind::layout_string && mtp == 0 && stated.text.find('m') != std::string::npos) {
    std::string text = stated.text;
    std::erase(text, 'm');
    return layout_string(text);
  }
  const int layers = model.text.num_hidden_layers, chunks = layout.pp * layout.vpp;
  if (stated.kind != SplitKind::uniform || layers % chunks == 0 || kinds_of(model).mamba) return std::nullopt;
  return layout::near_even_split(layers, chunks, mtp);
}

}  // namespace shardfit::io
