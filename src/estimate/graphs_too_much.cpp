// SPDX-License-Identifier: Apache-2.0
#include "estimate/graphs_too_much.hpp"

namespace shardfit::estimate {

bool GraphsTooMuch::covers(const Layout& layout, Bytes limit) {
  const CostKey key = kept_key(layout);
  if (!key || key != key_ || limit != limit_ || layout.offload.activation_layers != offloaded_layers_) {
    key_ = key;
    limit_ = limit;
    offloaded_layers_ = layout.offload.activation_layers;
    known_.clear();
    return false;
  }
  const CudaGraph& graph = layout.cuda_graph;
  if (graph.impl == CudaGraphImpl::full_iteration) return false;
  for (const Known& known : known_) {
    if (known.expert_overlap != layout.overlap.expert_alltoall) continue;
    if (known.graph.impl == CudaGraphImpl::none) return true;
    // Local graphs without scopes hold whole layers, so their sets do not grow with their names.
    const bool te = graph.impl == CudaGraphImpl::transformer_engine && known.graph.impl == graph.impl;
    if (te && graph.scopes.contains_all(known.graph.scopes)) return true;
  }
  return false;
}

void GraphsTooMuch::add(const Layout& layout) {
  if (layout.cuda_graph.impl != CudaGraphImpl::full_iteration)
    known_.push_back({layout.cuda_graph, layout.overlap.expert_alltoall});
}

}  // namespace shardfit::estimate
