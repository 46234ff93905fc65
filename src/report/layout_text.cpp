// SPDX-License-Identifier: Apache-2.0
#include "report/layout_text.hpp"

#include <fmt/format.h>

#include <utility>

namespace shardfit::report {
namespace {

/// Joins the words that are not empty by '+'; "none" if all are.
std::string joined(std::initializer_list<std::string> words) {
  std::string text;
  for (const std::string& word : words) {
    if (word.empty()) continue;
    if (!text.empty()) text += '+';
    text += word;
  }
  return text.empty() ? "none" : text;
}

std::string word_if(bool on, const char* word) { return on ? word : ""; }

}  // namespace

std::string recompute_text(const Recompute& recompute) {
  const std::string kind(name_of(recompute.granularity));
  switch (recompute.granularity) {
    case RecomputeGranularity::selective: return kind + ":" + join_names(recompute.modules);
    case RecomputeGranularity::full: return fmt::format("{}:{}:{}", kind, name_of(recompute.method), recompute.num_layers);
    default: return kind;
  }
}

std::string split_text(const PipelineSplit& split) {
  switch (split.kind) {
    case SplitKind::first_last: return fmt::format("first_last:{}:{}", split.first_stage_layers, split.last_stage_layers);
    case SplitKind::accounting:
      return "accounting:" +
             joined({word_if(split.account_for_embedding, "embedding"), word_if(split.account_for_loss, "loss")});
    case SplitKind::layout_string: return "layout:" + split.text;
    case SplitKind::hybrid_pattern: return "pattern:" + split.text;
    default: return "uniform";
  }
}

std::string cuda_graph_text(const CudaGraph& graph) {
  const std::string kind(name_of(graph.impl));
  return graph.scopes.empty() ? kind : kind + ":" + join_names(graph.scopes);
}

std::string overlap_text(const Overlap& overlap) {
  return joined({word_if(overlap.grad_reduce, "grad_reduce"), word_if(overlap.param_gather, "param_gather"),
                 word_if(overlap.tp_comm, "tp_comm"), word_if(overlap.expert_alltoall, "expert_alltoall"),
                 word_if(overlap.delay_wgrad, "delay_wgrad")});
}

std::string offload_text(const Offload& offload) {
  std::string optimizer, modules, layers;
  if (offload.optimizer_fraction > 0) optimizer = fmt::format("optimizer:{:g}", offload.optimizer_fraction);
  if (!offload.activation_modules.empty()) modules = "activations:" + join_names(offload.activation_modules, "/");
  if (offload.activation_layers > 0) layers = fmt::format("layers:{}", offload.activation_layers);
  return joined({optimizer, modules, layers});
}

}  // namespace shardfit::report
