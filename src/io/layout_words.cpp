// SPDX-License-Identifier: Apache-2.0
#include "io/layout_words.hpp"

#include "io/words.hpp"

namespace shardfit::io {
namespace {

[[noreturn]] void malformed(const Where& at, const std::string& text, const char* expected) {
  throw InputError(at.file, at.pointer, at.quoted(text), expected);
}

/// Modules alone: selective. A word that is none may be meant for a granularity, so an error names both.
EnumSet<RecomputeModule> recompute_modules(const Where& at, const std::string& text) {
  EnumSet<RecomputeModule> modules;
  for (const std::string& word : pieces(text, '+')) {
    const auto module = parse_name<RecomputeModule>(word);
    if (!module) {
      std::vector<std::string_view> names = all_names<RecomputeGranularity>();
      for (const std::string_view name : all_names<RecomputeModule>()) names.push_back(name);
      unknown_word(at, word, names);
    }
    modules.insert(*module);
  }
  return modules;
}

}  // namespace

Recompute recompute_of(const Where& at, const std::string& text) {
  const std::vector<std::string> part = pieces(text, ':');
  Recompute recompute;
  if (part.size() == 1 && !parse_name<RecomputeGranularity>(part[0])) {
    recompute.granularity = RecomputeGranularity::selective;
    recompute.modules = recompute_modules(at, part[0]);
    return recompute;
  }
  recompute.granularity = word_of<RecomputeGranularity>(at, part[0]);
  switch (recompute.granularity) {
    case RecomputeGranularity::selective:
      if (part.size() != 2) malformed(at, text, "modules, as in selective:moe_act+layernorm");
      recompute.modules = words_of_set<RecomputeModule>(at, part[1]);
      return recompute;
    case RecomputeGranularity::full:
      if (part.size() > 3) malformed(at, text, "full:METHOD:LAYERS, as in full:uniform:1");
      if (part.size() > 1) recompute.method = word_of<RecomputeMethod>(at, part[1]);
      if (part.size() > 2) recompute.num_layers = whole_number(at, part[2]);
      return recompute;
    default:
      if (part.size() != 1) malformed(at, text, "none alone");
      return recompute;
  }
}

PipelineSplit split_of(const Where& at, const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
  PipelineSplit split;
  if (kind == "uniform" && rest.empty()) return split;
  if (kind == "first_last") {
    const std::vector<std::string> part = pieces(rest, ':');
    if (part.size() != 2) malformed(at, text, "first_last:FIRST:LAST layers (0: as the middle stages)");
    split.kind = SplitKind::first_last;
    split.first_stage_layers = whole_number(at, part[0], 0);
    split.last_stage_layers = whole_number(at, part[1], 0);
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
        malformed(at, text, "accounting:embedding, accounting:loss or accounting:embedding+loss");
    }
    return split;
  }
  if ((kind == "layout" || kind == "pattern") && !rest.empty()) {
    split.kind = kind == "layout" ? SplitKind::layout_string : SplitKind::hybrid_pattern;
    split.text = rest;
    return split;
  }
  malformed(at, text, "uniform, first_last:FIRST:LAST, accounting:embedding+loss, layout:TEXT or pattern:TEXT");
}

CudaGraph cuda_graph_of(const Where& at, const std::string& text) {
  const std::vector<std::string> part = pieces(text, ':');
  if (part.size() > 2) malformed(at, text, "IMPL or IMPL:SCOPES, as in transformer_engine:attn+moe_router");
  CudaGraph graph;
  graph.impl = word_of<CudaGraphImpl>(at, part[0]);
  if (part.size() == 2) graph.scopes = words_of_set<GraphScope>(at, part[1]);
  return graph;
}

}  // namespace shardfit::io
