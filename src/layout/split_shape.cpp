// SPDX-License-Identifier: Apache-2.0
#include "layout/split_shape.hpp"

#include <string_view>

#include "layout/layout_string.hpp"

namespace shardfit::layout {
namespace {

SplitShape shape_of_string(std::string_view text) {
  SplitShape shape;
  shape.chunks = 1;
  bool mtp_here = false;
  int symbols = 0;
  const LayoutStringFault fault = read_layout_string(text, [&](char c) {
    if (c == '|') {
      ++shape.chunks;
      mtp_here = false;
      return;
    }
    ++symbols;
    if (symbols == 1) shape.embedding_first = c == 'E';
    shape.head_last = c == 'L';
    if (c == 'E') ++shape.embeddings;
    if (c == 'L') ++shape.heads;
    if (c == 't') {
      ++shape.layers;
      if (shape.chunks == 1) ++shape.first_chunk_layers;
      if (shape.mtp > 0) shape.mtp_after_layers = false;
    }
    if (c == 'm') {
      ++shape.mtp;
      if (!mtp_here) ++shape.mtp_chunks;
      mtp_here = true;
      shape.mtp_chunk = shape.chunks - 1;
    }
  });
  shape.readable = fault == LayoutStringFault::none && symbols > 0;
  return shape;
}

/// Whether a block of the model is what a hybrid symbol stands for. Symbols: Megatron-LM
/// core/models/hybrid/hybrid_layer_allocation.py.
bool symbol_fits(char c, const TextSpec& text, BlockRef block) {
  const bool has_mixer = block.mixer >= 0, has_mlp = block.mlp >= 0;
  if (has_mixer == has_mlp) return false;
  if (has_mlp) {
    const MlpKind& kind = text.mlps[std::size_t(block.mlp)].kind;
    return c == (std::holds_alternative<MoeMlpSpec>(kind) ? 'E' : '-');
  }
  const MixerKind& kind = text.mixers[std::size_t(block.mixer)].kind;
  if (std::holds_alternative<Mamba2Spec>(kind)) return c == 'M';
  if (std::holds_alternative<GatedDeltaNetSpec>(kind)) return c == 'G';
  if (std::holds_alternative<MlaSpec>(kind)) return c == '+';
  if (std::holds_alternative<CompressedMqaSpec>(kind)) return c == 'D';
  return c == '*';
}

bool is_hybrid_symbol(char c) { return std::string_view("MG*D+-E").find(c) != std::string_view::npos; }

/// Counts the patterns after '/' and whether they are alike and readable.
void read_mtp_patterns(std::string_view rest, SplitShape& shape) {
  const std::string_view first = rest.substr(0, rest.find('/'));
  while (true) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    for (char c : part) shape.readable = shape.readable && is_hybrid_symbol(c);
    shape.mtp_alike = shape.mtp_alike && part == first;
    ++shape.mtp;
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  if (first.empty() && shape.mtp_alike) shape.mtp = 0;
}

SplitShape shape_of_pattern(const TextSpec& text, std::string_view pattern, int pp) {
  SplitShape shape;
  shape.chunks = 1;
  const std::size_t slash = pattern.find('/');
  bool plain = false, latent = false;
  for (char c : pattern.substr(0, slash)) {
    if (c == '|') {
      ++shape.chunks;
      continue;
    }
    shape.readable = shape.readable && is_hybrid_symbol(c);
    plain = plain || c == '*';
    latent = latent || c == 'D' || c == '+';
    const std::size_t layer = std::size_t(shape.layers);
    if (shape.first_mismatch < 0 && layer < text.layers.size() && !symbol_fits(c, text, text.layers[layer]))
      shape.first_mismatch = shape.layers;
    ++shape.layers;
    if (shape.chunks == 1) ++shape.first_chunk_layers;
  }
  shape.kinds_mixed = plain && latent;
  shape.readable = shape.readable && shape.layers > 0;
  if (slash != std::string_view::npos) read_mtp_patterns(pattern.substr(slash + 1), shape);
  if (shape.chunks == 1) shape.first_chunk_layers = shape.layers / pp;
  return shape;
}

}  // namespace

bool has_bars(std::string_view pattern) { return pattern.substr(0, pattern.find('/')).find('|') != std::string_view::npos; }

MiddleStages middle_stages(int layers, const Layout& layout) {
  const int first = layout.split.first_stage_layers, last = layout.split.last_stage_layers;
  return {layers - first - last, layout.pp - (first > 0) - (last > 0)};
}

SplitShape split_shape(const JobFacts& job, const Layout& layout) {
  const TextSpec& text = job.job->model.text;
  SplitShape shape;
  const int stages = layout.pp * layout.vpp;
  switch (layout.split.kind) {
    case SplitKind::layout_string: return shape_of_string(layout.split.text);
    case SplitKind::hybrid_pattern: return shape_of_pattern(text, layout.split.text, layout.pp);
    case SplitKind::first_last: {
      const MiddleStages middle = middle_stages(job.layers, layout);
      const int rank_layers = layout.split.first_stage_layers > 0 ? layout.split.first_stage_layers
                              : middle.ranks > 0                  ? middle.layers / middle.ranks
                                                                  : 0;
      shape.first_chunk_layers = rank_layers / layout.vpp;
      break;
    }
    case SplitKind::accounting:
      shape.first_chunk_layers = (job.layers + layout.split.account_for_embedding + layout.split.account_for_loss) / stages -
                                 layout.split.account_for_embedding;
      break;
    default: shape.first_chunk_layers = job.layers / stages;
  }
  return shape;
}

}  // namespace shardfit::layout
