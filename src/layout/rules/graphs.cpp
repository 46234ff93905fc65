// SPDX-License-Identifier: Apache-2.0
// CUDA graphs: implementation, scopes that the model has, what cannot be captured.
#include <algorithm>

#include "layout/rules/rule.hpp"
#include "shardfit/spec/model_dims.hpp"

namespace shardfit::layout {
namespace {

constexpr std::string_view kConfig = "Megatron-LM core/transformer/transformer_config.py:__post_init__";

/// Day of the change "reject unsupported local CUDA graph scopes" (7e8662c66); older releases ran such graphs.
constexpr int kLocalGraphsRefusedSince = 20260710;

bool per_layer(const Case& c) {
  return c.layout.cuda_graph.impl == CudaGraphImpl::local || c.layout.cuda_graph.impl == CudaGraphImpl::transformer_engine;
}
bool te(const Case& c) { return c.layout.cuda_graph.impl == CudaGraphImpl::transformer_engine; }
bool scoped(const Case& c, GraphScope scope) { return per_layer(c) && c.layout.cuda_graph.scopes.contains(scope); }
bool drop_and_pad(const Case& c) { return c.training().expert_capacity_factor > 0 && c.training().pad_to_capacity; }
bool selective(const Case& c) { return c.layout.recompute.granularity == RecomputeGranularity::selective; }

constexpr Rule kRules[] = {
    {{"local_graphs_bridge", "graphs", "Bridge takes local graphs only for the full iteration", "local per-layer graphs",
      "allowed", RuleSource::megatron_bridge, "Megatron-Bridge utils/cuda_graph.py:validate_cuda_graph_configuration"},
     RuleScope::megatron_bridge,
     {},
     Reads{On::cuda_graph},
     [](const Case& c) { return at_most(c.layout.cuda_graph.impl == CudaGraphImpl::local, 0); },
     kLocalGraphsRefusedSince},
    {{"full_iteration_scopes", "graphs", "a full-iteration graph has no scopes", "scopes", "most", RuleSource::megatron_core,
      kConfig},
     RuleScope::everywhere,
     {},
     Reads{On::cuda_graph},
     [](const Case& c) {
       const bool full = c.layout.cuda_graph.impl == CudaGraphImpl::full_iteration;
       return none_of(full, c.layout.cuda_graph.scopes.size());
     }},
    {{"full_iteration_row_counts", "graphs",
      "a full-iteration graph of experts needs row counts without the host: expert_rank_capacity_factor, or drop and pad",
      "captured reads of row counts", "allowed", RuleSource::shardfit,
      "CUDA forbids waiting for the device while a stream is captured; Megatron-LM core/transformer/moe/token_dispatcher.py"},
     RuleScope::megatron,
     {},
     Reads{On::cuda_graph},
     [](const Case& c) {
       const bool full = c.layout.cuda_graph.impl == CudaGraphImpl::full_iteration;
       // A paged stash has such a capacity: see paged_stash_capacity.
       const bool counted = c.stack().paged_stash || c.stack().expert_rank_capacity_factor > 0 || drop_and_pad(c);
       return none_of(full && c.job.experts > 0, !counted);
     }},
    {{"full_iteration_tower", "graphs", "a full-iteration graph excludes a vision tower, whose grids the host reads",
      "captured reads of grids", "allowed", RuleSource::shardfit,
      "CUDA forbids waiting for the device while a stream is captured; Megatron-Bridge models/qwen_vl/modelling_qwen3_vl/"
      "{vision_model,rope}.py, transformers qwen2_5_vl, glm4v, gemma3"},
     RuleScope::megatron,
     {},
     Reads{On::cuda_graph},
     [](const Case& c) {
       const bool full = c.layout.cuda_graph.impl == CudaGraphImpl::full_iteration;
       return none_of(full, runs_vision(c.model(), c.training()));
     }},
    {{"graph_scopes_need_impl", "graphs", "graph scopes need a graph implementation", "scopes", "most", RuleSource::shardfit,
      "the scopes would do nothing"},
     RuleScope::everywhere,
     {},
     Reads{On::cuda_graph},
     [](const Case& c) { return none_of(c.layout.cuda_graph.impl == CudaGraphImpl::none, c.layout.cuda_graph.scopes.size()); }},
    {{"te_graphs_need_te", "graphs", "transformer_engine graphs need Transformer Engine layers", "transformer_engine", "needed",
      RuleSource::megatron_core, "Megatron-LM core/transformer/cuda_graphs.py:TECudaGraphHelper"},
     RuleScope::megatron,
     {},
     Reads{On::cuda_graph},
     [](const Case& c) { return te(c) ? equals(c.stack().transformer_engine, 1) : kPass; }},
    {{"graph_moe_once", "graphs", "graph scopes name moe or moe_router, not both", "moe_router", "allowed",
      RuleSource::megatron_core, kConfig},
     RuleScope::everywhere,
     {},
     Reads{On::cuda_graph},
     [](const Case& c) { return none_of(scoped(c, GraphScope::moe), scoped(c, GraphScope::moe_router)); }},
    {{"graph_preprocess_router", "graphs", "graph scope moe_preprocess needs moe_router", "moe_router", "needed",
      RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     Reads{On::cuda_graph},
     [](const Case& c) {
       // Local graphs set both by themselves: see alterations.
       const bool asked = te(c) && scoped(c, GraphScope::moe_preprocess);
       return asked ? equals(scoped(c, GraphScope::moe_router), 1) : kPass;
     }},
    {{"graph_experts", "graphs", "graph scopes moe, moe_router and moe_preprocess need experts", "experts", "least",
      RuleSource::megatron_core, kConfig},
     RuleScope::everywhere,
     {},
     Reads{On::cuda_graph},
     [](const Case& c) {
       const bool asked = scoped(c, GraphScope::moe) || scoped(c, GraphScope::moe_router) ||
                          scoped(c, GraphScope::moe_preprocess);
       return asked ? at_least(c.job.experts, 2) : kPass;
     }},
    {{"graph_dense_mlp", "graphs", "graph scope mlp needs dense MLPs, in the decoder or the vision tower", "their width",
      "least", RuleSource::megatron_core, kConfig},
     RuleScope::everywhere,
     {},
     Reads{On::cuda_graph},
     [](const Case& c) {
       // Bridge names the tower's scopes apart (vision_cuda_graph_scope); a run states one list for both.
       return scoped(c, GraphScope::mlp) ? at_least(std::max(c.job.dense_ffn, c.job.vision_ffn), 1) : kPass;
     }},
    {{"graph_mamba", "graphs", "graph scope mamba needs Mamba layers", "their heads", "least", RuleSource::shardfit,
      "the scope would do nothing"},
     RuleScope::everywhere,
     {},
     Reads{On::cuda_graph},
     [](const Case& c) { return scoped(c, GraphScope::mamba) ? at_least(c.job.mamba_heads, 1) : kPass; }},
    {{"graph_moe_padded", "graphs", "graph scope moe needs tokens dropped and padded to capacity", "drop and pad", "needed",
      RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     Reads{On::cuda_graph},
     [](const Case& c) { return scoped(c, GraphScope::moe) && c.job.experts > 0 ? equals(drop_and_pad(c), 1) : kPass; }},
    {{"graph_preprocess_sync", "graphs", "graph scope moe_preprocess excludes alltoall with a capacity that is not padded to",
      "such a capacity", "allowed", RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     Reads{On::dispatcher, On::cuda_graph},
     [](const Case& c) {
       const bool syncs = c.layout.dispatcher == Dispatcher::alltoall && c.training().expert_capacity_factor > 0 &&
                          !c.training().pad_to_capacity;
       return none_of(scoped(c, GraphScope::moe_preprocess), syncs);
     }},
    {{"full_recompute_graphs", "graphs", "full recompute excludes graphs but full_iteration", "per-layer graphs", "allowed",
      RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     Reads{On::recompute, On::cuda_graph},
     [](const Case& c) { return none_of(c.full_recompute(), per_layer(c)); }},
    {{"moe_recompute_router_graph", "graphs", "recompute of moe excludes the graph scope moe_router", "router graphed",
      "allowed", RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     Reads{On::recompute, On::cuda_graph},
     [](const Case& c) { return none_of(te(c) && c.selective(RecomputeModule::moe), scoped(c, GraphScope::moe_router)); }},
    {{"graph_attention_dropout", "graphs", "graphed recompute of core_attn excludes attention dropout", "dropout", "allowed",
      RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     Reads{On::recompute, On::cuda_graph},
     [](const Case& c) {
       const bool graphed = c.whole_graph() || c.graphed(GraphScope::attn);
       return none_of(graphed && c.selective(RecomputeModule::core_attn), c.training().attention_dropout != 0);
     }},
    {{"graph_hidden_dropout", "graphs", "graphed recompute of mlp or moe excludes hidden dropout", "dropout", "allowed",
      RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     Reads{On::recompute, On::cuda_graph},
     [](const Case& c) {
       if (!selective(c)) return kPass;
       const bool mlp = (c.whole_graph() || c.graphed(GraphScope::mlp)) && c.selective(RecomputeModule::mlp);
       const bool moe = (c.whole_graph() || c.graphed(GraphScope::moe)) && c.selective(RecomputeModule::moe);
       return none_of(mlp || moe, c.training().hidden_dropout != 0);
     }},
};

}  // namespace

std::span<const Rule> graph_rules() { return kRules; }

}  // namespace shardfit::layout
