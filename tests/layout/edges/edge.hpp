// SPDX-License-Identifier: Apache-2.0
// What the edge of a rule is, and short words for the changes that reach it.
#pragma once

#include <functional>
#include <string_view>

#include "layout/jobs.hpp"

namespace shardfit::test {

using Change = std::function<void(Job&, Layout&)>;

/// `good` makes a job and layout without violations, `bad` breaks the rule.
struct Edge {
  std::string_view code;
  Job job;
  Change good, bad;
  std::int64_t got, need;
};

inline void nothing(Job&, Layout&) {}

inline Layout plain_layout() {
  Layout layout;
  layout.overlap.param_gather = layout.overlap.grad_reduce = false;
  return layout;
}

inline Change layout_text(const char* text, int pp, int vpp = 1, SplitKind kind = SplitKind::layout_string) {
  return [=](Job&, Layout& l) {
    l.split.kind = kind;
    l.split.text = text;
    l.pp = pp;
    l.vpp = vpp;
  };
}
inline Change hybrid_text(const char* text, int pp, int vpp = 1) {
  return layout_text(text, pp, vpp, SplitKind::hybrid_pattern);
}
inline Change selective(RecomputeModule module) {
  return [=](Job&, Layout& l) {
    l.recompute.granularity = RecomputeGranularity::selective;
    l.recompute.modules = {module};
  };
}
inline Change full_recompute(int layers, RecomputeMethod method = RecomputeMethod::uniform) {
  return [=](Job&, Layout& l) {
    l.recompute.granularity = RecomputeGranularity::full;
    l.recompute.method = method;
    l.recompute.num_layers = layers;
  };
}
inline Change graphs(CudaGraphImpl impl, EnumSet<GraphScope> scopes = {}) {
  return [=](Job&, Layout& l) { l.cuda_graph = {impl, scopes}; };
}
inline Change offload(EnumSet<OffloadModule> modules) {
  return [=](Job&, Layout& l) { l.offload.activation_modules = modules; };
}
inline Change both(Change a, Change b) {
  return [=](Job& j, Layout& l) {
    a(j, l);
    b(j, l);
  };
}
inline Change set(void (*change)(Job&, Layout&)) { return change; }
/// A valid layout with overlap of expert traffic.
inline void expert_overlap(Job&, Layout& l) {
  l.ep = 2;
  l.overlap.expert_alltoall = true;
}
inline void dispatcher(Layout& l, Dispatcher d, int ep) {
  l.dispatcher = d;
  l.ep = ep;
}
inline MoeMlpSpec& moe_of(Job& j) { return std::get<MoeMlpSpec>(j.model.text.mlps[0].kind); }
inline constexpr auto kTe = CudaGraphImpl::transformer_engine;

}  // namespace shardfit::test
