// SPDX-License-Identifier: Apache-2.0
// Overlap of expert traffic with another micro-batch (overlap_moe_expert_parallel_comm) and delayed weight gradients.
#include "layout/rules/rule.hpp"

namespace shardfit::layout {
namespace {

constexpr std::string_view kConfig = "Megatron-LM core/transformer/transformer_config.py:__post_init__";
constexpr std::string_view kDelay = "Megatron-LM training/arguments.py:validate_args; Megatron-Bridge training/comm_overlap.py";

bool on(const Case& c) { return c.layout.overlap.expert_alltoall; }

/// Delayed weight gradients run inside a captured graph: attention's, or the shared expert's with the router.
bool delayed_in_graph(const Case& c) {
  const bool shared = c.job.shared_ffn > 0 && !c.stack().moe_shared_expert_overlap;
  return c.layout.overlap.delay_wgrad && (c.graphed(GraphScope::attn) || (c.graphed(GraphScope::moe_router) && shared));
}

constexpr Rule kRules[] = {
    {{"expert_overlap_ep", "moe", "overlap of expert traffic needs experts and ep of at least 2", "ep", "least",
      RuleSource::megatron_core, kConfig},
     RuleScope::everywhere,
     {Axis::ep},
     Reads{On::ep, On::expert_overlap},
     [](const Case& c) { return on(c) ? at_least(c.job.experts > 1 ? c.layout.ep : 0, 2) : kPass; }},
    {{"expert_overlap_dispatcher", "moe", "overlap of expert traffic needs another dispatcher than allgather", "allgather",
      "allowed", RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     Reads{On::dispatcher, On::expert_overlap},
     [](const Case& c) { return none_of(on(c), c.layout.dispatcher == Dispatcher::allgather); }},
    {{"expert_overlap_precision", "moe", "overlap of expert traffic needs bf16 or fp16 parameters", "fp32", "allowed",
      RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     Reads{On::expert_overlap},
     [](const Case& c) { return none_of(on(c), c.training().precision == Precision::fp32); }},
    {{"expert_overlap_vpp", "moe", "overlap of expert traffic with pp above 1 needs virtual stages", "vpp", "least",
      RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {Axis::vpp, Axis::pp},
     Reads{On::pp, On::vpp, On::expert_overlap},
     [](const Case& c) { return on(c) && c.layout.pp > 1 ? at_least(c.layout.vpp, 2) : kPass; }},
    {{"expert_overlap_full_recompute", "moe", "overlap of expert traffic excludes full recompute", "full recompute", "allowed",
      RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     Reads{On::recompute, On::expert_overlap},
     [](const Case& c) { return none_of(on(c), c.full_recompute()); }},
    {{"expert_overlap_moe_recompute", "moe", "overlap of expert traffic excludes recompute of module moe", "moe recomputed",
      "allowed", RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     Reads{On::recompute, On::expert_overlap},
     [](const Case& c) { return none_of(on(c), c.layout.recompute.modules.contains(RecomputeModule::moe)); }},
    {{"expert_overlap_mtp", "moe", "overlap of expert traffic allows one MTP layer", "mtp_layers", "most",
      RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     Reads{On::expert_overlap},
     [](const Case& c) { return on(c) ? at_most(c.job.mtp, 1) : kPass; }},
    {{"expert_overlap_graph_scope", "moe", "overlap of expert traffic excludes the graph scopes moe and mlp", "such scopes",
      "most", RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     Reads{On::cuda_graph, On::expert_overlap},
     [](const Case& c) {
       const bool te = c.layout.cuda_graph.impl == CudaGraphImpl::transformer_engine;
       return none_of(on(c) && te, c.graphed(GraphScope::moe) + c.graphed(GraphScope::mlp));
     }},
    {{"delay_wgrad_overlap", "moe", "delayed weight gradients need overlap of expert traffic", "expert_alltoall", "needed",
      RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     Reads{On::expert_overlap},
     [](const Case& c) { return c.layout.overlap.delay_wgrad ? equals(on(c), 1) : kPass; }},
    {{"delay_wgrad_graph_fusion", "moe", "delayed weight gradients inside a graph need grad_accumulation_fusion",
      "grad_accumulation_fusion", "needed", RuleSource::megatron_core, kDelay},
     RuleScope::megatron,
     {},
     Reads{On::cuda_graph, On::expert_overlap},
     [](const Case& c) { return delayed_in_graph(c) ? equals(c.stack().grad_accumulation_fusion, 1) : kPass; }},
    {{"delay_wgrad_graph_bias", "moe", "delayed weight gradients with graphed attention exclude attention biases",
      "attention bias", "allowed", RuleSource::megatron_core, kDelay},
     RuleScope::megatron,
     {},
     Reads{On::cuda_graph, On::expert_overlap},
     [](const Case& c) { return none_of(c.layout.overlap.delay_wgrad && c.graphed(GraphScope::attn), c.job.attention_bias); }},
};

}  // namespace

std::span<const Rule> expert_overlap_rules() { return kRules; }

}  // namespace shardfit::layout
