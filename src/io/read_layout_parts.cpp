// SPDX-License-Identifier: Apache-2.0
// Recompute and graphs of a layout: words, or an object.
#include "io/layout_words.hpp"
#include "io/model_kinds.hpp"
#include "io/read_layout.hpp"

namespace shardfit::io {
namespace {

bool takes_no_scopes(CudaGraphImpl impl) { return impl == CudaGraphImpl::none || impl == CudaGraphImpl::full_iteration; }

std::string no_scopes(CudaGraphImpl impl) { return "no scopes with cuda_graph impl " + std::string(name_of(impl)); }

/// What "capture the whole layer" is for a model: Megatron's empty scope list. Routed experts stay outside it
/// unless their shapes are fixed, so the scope that recipes use for them is taken.
EnumSet<GraphScope> whole_layer_scopes(const ModelSpec& model) {
  const ModelKinds kinds = kinds_of(model);
  EnumSet<GraphScope> scopes;
  if (kinds.attention || kinds.gated_delta_net) scopes.insert(GraphScope::attn);
  if (kinds.mamba) scopes.insert(GraphScope::mamba);
  if (kinds.dense_mlp) scopes.insert(GraphScope::mlp);
  if (kinds.moe) {
    scopes.insert(GraphScope::moe_router);
    scopes.insert(GraphScope::moe_preprocess);
  }
  return scopes;
}

}  // namespace

Recompute read_recompute(const Value& value) {
  if (value.is_text()) return recompute_of(value.place(), value.as_text());
  Object o(value);
  Recompute r;
  r.granularity = o.get("granularity", RecomputeGranularity::none);
  const auto modules = o.find("modules");
  const auto method = o.find("method");
  const int layers = o.get("num_layers", 1, 0);  // 0: block recompute that covers no layer
  o.ignore("stated");
  o.done();
  if (r.granularity == RecomputeGranularity::selective) {
    r.modules = modules ? modules->as_enum_set<RecomputeModule>() : EnumSet<RecomputeModule>{RecomputeModule::core_attn};
    if (r.modules.empty()) r.granularity = RecomputeGranularity::none;  // selective over nothing recomputes nothing
  } else if (modules) {
    if (!modules->as_list().empty()) modules->refuse("no modules where granularity is not selective");
  }
  if (r.granularity == RecomputeGranularity::full) {
    if (method) r.method = method->as_enum<RecomputeMethod>();
    r.num_layers = layers;
  }
  return r;
}

CudaGraph read_cuda_graph(const Value& value, const ModelSpec& model) {
  CudaGraph g;
  if (value.is_text()) {
    g = cuda_graph_of(value.place(), value.as_text());
    if (!g.scopes.empty() && takes_no_scopes(g.impl)) value.refuse(no_scopes(g.impl));
    if (g.impl == CudaGraphImpl::transformer_engine && g.scopes.empty()) g.scopes = whole_layer_scopes(model);
    return g;
  }
  Object o(value);
  g.impl = o.get("impl", CudaGraphImpl::none);
  const auto scopes = o.find("scopes");
  o.done();
  bool whole = false;
  if (scopes) {
    for (const Value& v : scopes->as_list()) {
      // Megatron-Core's older way to ask for one graph of the whole step: impl local, this scope.
      const bool step = v.is_text() && v.as_text() == "full_iteration" &&
                        (g.impl == CudaGraphImpl::local || g.impl == CudaGraphImpl::full_iteration);
      if (step)
        g.impl = CudaGraphImpl::full_iteration;
      else if (v.is_text() && v.as_text() == "whole_layer")
        whole = true;
      else
        g.scopes.insert(v.as_enum<GraphScope>());
    }
    if (!g.scopes.empty() && takes_no_scopes(g.impl)) scopes->refuse(no_scopes(g.impl));
  }
  if (g.impl == CudaGraphImpl::transformer_engine && (whole || g.scopes.empty())) g.scopes = whole_layer_scopes(model);
  return g;
}

}  // namespace shardfit::io
