// SPDX-License-Identifier: Apache-2.0
#include "cli/layout_words.hpp"

#include "cli/words.hpp"

namespace shardfit::cli {
namespace {

[[noreturn]] void malformed(const std::string& flag, const std::string& text, const char* expected) {
  throw InputError("", flag, "'" + text + "'", expected);
}

}  // namespace

Recompute recompute_of(const std::string& flag, const std::string& text) {
  const std::vector<std::string> part = pieces(text, ':');
  Recompute recompute;
  recompute.granularity = word_of<RecomputeGranularity>(flag, part[0]);
  switch (recompute.granularity) {
    case RecomputeGranularity::selective:
      if (part.size() != 2) malformed(flag, text, "modules, as in selective:moe_act+layernorm");
      recompute.modules = words_of_set<RecomputeModule>(flag, part[1]);
      return recompute;
    case RecomputeGranularity::full:
      if (part.size() > 3) malformed(flag, text, "full:METHOD:LAYERS, as in full:uniform:1");
      if (part.size() > 1) recompute.method = word_of<RecomputeMethod>(flag, part[1]);
      if (part.size() > 2) recompute.num_layers = whole_number(flag, part[2]);
      return recompute;
    default:
      if (part.size() != 1) malformed(flag, text, "none alone");
      return recompute;
  }
}

PipelineSplit split_of(const std::string& flag, const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
  PipelineSplit split;
  if (kind == "uniform" && rest.empty()) return split;
  if (kind == "first_last") {
    const std::vector<std::string> part = pieces(rest, ':');
    if (part.size() != 2) malformed(flag, text, "first_last:FIRST:LAST layers (0: as the middle stages)");
    split.kind = SplitKind::first_last;
    split.first_stage_layers = whole_number(flag, part[0], 0);
    split.last_stage_layers = whole_number(flag, part[1], 0);
    return split;
  }
  if (kind == "accounting") {
    split.kind = SplitKind::accounting;
    for (const std::string& word : pieces(rest, '+')) {
      if (word == "embedding")
        split.account_for_embedding = true;
      else if (word == "loss")
        split.account_for_loss = true;
      else
        malformed(flag, text, "accounting:embedding, accounting:loss or accounting:embedding+loss");
    }
    return split;
  }
  if ((kind == "layout" || kind == "pattern") && !rest.empty()) {
    split.kind = kind == "layout" ? SplitKind::layout_string : SplitKind::hybrid_pattern;
    split.text = rest;
    return split;
  }
  malformed(flag, text, "uniform, first_last:FIRST:LAST, accounting:embedding+loss, layout:TEXT or pattern:TEXT");
}

CudaGraph cuda_graph_of(const std::string& flag, const std::string& text) {
  const std::vector<std::string> part = pieces(text, ':');
  if (part.size() > 2) malformed(flag, text, "IMPL or IMPL:SCOPES, as in transformer_engine:attn+moe_router");
  CudaGraph graph;
  graph.impl = word_of<CudaGraphImpl>(flag, part[0]);
  if (part.size() == 2) graph.scopes = words_of_set<GraphScope>(flag, part[1]);
  return graph;
}

}  // namespace shardfit::cli
