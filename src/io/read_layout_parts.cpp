// SPDX-License-Identifier: Apache-2.0
// Recompute and graphs of a layout: words, or an object.
#include <algorithm>

#include "io/model_kinds.hpp"
#include "io/read_layout.hpp"

namespace shardfit::io {
namespace {

/// "a+b" of names.
template <class E>
EnumSet<E> read_joined(const Value& value) {
  EnumSet<E> set;
  const std::string text = value.as_text();
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t plus = std::min(text.find('+', from), text.size());
    const std::string word = text.substr(from, plus - from);
    const auto e = parse_name<E>(word);
    if (!e) value.refuse_word(word, all_names<E>());
    set.insert(*e);
    from = plus + 1;
  }
  return set;
}

Recompute read_recompute_text(const Value& value) {
  const std::string text = value.as_text();
  Recompute r;
  if (text == "none") return r;
  if (text == "full") {
    r.granularity = RecomputeGranularity::full;
    return r;
  }
  r.granularity = RecomputeGranularity::selective;
  r.modules = read_joined<RecomputeModule>(value);
  return r;
}

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
  if (value.is_text()) return read_recompute_text(value);
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
    g.impl = value.as_enum<CudaGraphImpl>();
    if (g.impl == CudaGraphImpl::transformer_engine) g.scopes = whole_layer_scopes(model);
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
    if (!g.scopes.empty() && (g.impl == CudaGraphImpl::none || g.impl == CudaGraphImpl::full_iteration))
      scopes->refuse("no scopes with cuda_graph impl " + std::string(name_of(g.impl)));
  }
  if (g.impl == CudaGraphImpl::transformer_engine && (whole || g.scopes.empty())) g.scopes = whole_layer_scopes(model);
  return g;
}

}  // namespace shardfit::io
