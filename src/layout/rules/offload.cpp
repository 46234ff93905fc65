// SPDX-License-Identifier: Apache-2.0
// Offload to host memory: activations by layer or by module, optimizer state.
#include "layout/rules/rule.hpp"

namespace shardfit::layout {
namespace {

constexpr std::string_view kConfig = "Megatron-LM core/transformer/transformer_config.py:__post_init__";
constexpr EnumSet<OffloadModule> kExpertModules{OffloadModule::expert_fc1, OffloadModule::moe_act,
                                                OffloadModule::fused_group_mlp};

bool by_layer(const Case& c) { return c.layout.offload.activation_layers > 0; }
bool by_module(const Case& c) { return !c.layout.offload.activation_modules.empty(); }
bool offloads(const Case& c, OffloadModule m) { return c.layout.offload.activation_modules.contains(m); }
int expert_modules(const Case& c) { return (c.layout.offload.activation_modules & kExpertModules).size(); }

constexpr Rule kRules[] = {
    {{"layer_offload_pp", "offload", "layer-level offload needs pp 1", "pp", "most", RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {Axis::pp},
     Reads{On::pp},
     [](const Case& c) { return by_layer(c) ? at_most(c.layout.pp, 1) : kPass; }},
    {{"layer_offload_layers", "offload", "layer-level offload leaves at least one layer", "offloaded layers",
      "num_hidden_layers - 1", RuleSource::megatron_core, kConfig},
     RuleScope::everywhere,
     {Axis::activation_layers},
     kJobAlone,
     [](const Case& c) { return by_layer(c) ? at_most(c.layout.offload.activation_layers, c.job.layers - 1) : kPass; }},
    {{"layer_offload_recompute", "offload", "layer-level offload excludes recompute", "recompute", "allowed",
      RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     Reads{On::recompute},
     [](const Case& c) { return none_of(by_layer(c), c.layout.recompute.granularity != RecomputeGranularity::none); }},
    {{"layer_offload_graphs", "offload", "layer-level offload excludes graphs but full_iteration", "per-layer graphs",
      "allowed", RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     Reads{On::cuda_graph},
     [](const Case& c) {
       const CudaGraphImpl impl = c.layout.cuda_graph.impl;
       return none_of(by_layer(c), impl == CudaGraphImpl::local || impl == CudaGraphImpl::transformer_engine);
     }},
    {{"offload_one_kind", "offload", "offload of modules excludes layer-level offload", "offloaded layers", "most",
      RuleSource::megatron_core, kConfig},
     RuleScope::everywhere,
     {Axis::activation_layers},
     kJobAlone,
     [](const Case& c) { return by_module(c) ? at_most(c.layout.offload.activation_layers, 0) : kPass; }},
    {{"offload_attn_proj", "offload", "offload of attn_proj needs offload of core_attn", "core_attn", "needed",
      RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     kJobAlone,
     [](const Case& c) {
       return offloads(c, OffloadModule::attn_proj) ? equals(offloads(c, OffloadModule::core_attn), 1) : kPass;
     }},
    {{"offload_moe_recompute", "offload", "recompute of moe excludes offload of expert modules", "expert modules", "most",
      RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     Reads{On::recompute},
     [](const Case& c) { return none_of(c.selective(RecomputeModule::moe), expert_modules(c)); }},
    {{"offload_fused_needs_fusion", "offload", "offload of fused_group_mlp needs fused grouped experts", "fused_grouped_mlp",
      "needed", RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     kJobAlone,
     [](const Case& c) {
       return offloads(c, OffloadModule::fused_group_mlp) ? equals(c.stack().fused_grouped_mlp, 1) : kPass;
     }},
    {{"offload_fused_alone", "offload", "offload of fused_group_mlp excludes expert_fc1 and moe_act", "such modules", "most",
      RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     kJobAlone,
     [](const Case& c) {
       return none_of(offloads(c, OffloadModule::fused_group_mlp),
                      offloads(c, OffloadModule::expert_fc1) + offloads(c, OffloadModule::moe_act));
     }},
    {{"offload_experts", "offload", "offload of expert modules needs experts", "experts", "least", RuleSource::shardfit,
      "the module would do nothing"},
     RuleScope::everywhere,
     {},
     kJobAlone,
     [](const Case& c) { return expert_modules(c) > 0 ? at_least(c.job.experts, 1) : kPass; }},
    {{"offload_needs_te", "offload", "offload of modules needs Transformer Engine layers", "transformer_engine", "needed",
      RuleSource::megatron_core, "Megatron-LM training/arguments.py; Megatron-Bridge training/config.py"},
     RuleScope::megatron,
     {},
     kJobAlone,
     [](const Case& c) { return by_module(c) ? equals(c.stack().transformer_engine, 1) : kPass; }},
    {{"offload_local_graphs", "offload", "offload with local graphs is of expert modules only, with named scopes",
      "other modules, or whole-layer graphs", "most", RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     Reads{On::cuda_graph},
     [](const Case& c) {
       if (!by_module(c) || c.layout.cuda_graph.impl != CudaGraphImpl::local) return kPass;
       const int others = c.layout.offload.activation_modules.size() - expert_modules(c);
       return at_most(others + c.layout.cuda_graph.scopes.empty(), 0);
     }},
    {{"offload_moe_graph", "offload", "offload of modules excludes the graph scope moe", "moe graphed", "allowed",
      RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     Reads{On::cuda_graph},
     [](const Case& c) { return none_of(by_module(c), c.graphed(GraphScope::moe)); }},
    {{"optimizer_offload_fraction", "offload", "the offloaded part of the optimizer is between 0 and 1", "percent offloaded",
      "most", RuleSource::shardfit, ""},
     RuleScope::everywhere,
     {},
     Reads{On::optimizer_offload},
     [](const Case& c) {
       const double fraction = c.layout.offload.optimizer_fraction;
       constexpr int kPercent = 100;
       return Finding{!(fraction >= 0 && fraction <= 1), std::int64_t(fraction * kPercent), kPercent};
     }},
    {{"optimizer_offload_precision_aware", "offload", "optimizer offload needs the precision-aware optimizer",
      "precision_aware", "needed", RuleSource::megatron_lm_arguments, "Megatron-LM training/arguments.py:validate_args"},
     RuleScope::megatron_lm,
     {},
     Reads{On::optimizer_offload},
     [](const Case& c) {
       return c.layout.offload.optimizer_fraction > 0 ? equals(c.training().optimizer.precision_aware, 1) : kPass;
     }},
    {{"optimizer_offload_fp8_params", "offload", "optimizer offload excludes fp8 parameter gather but with delayed scaling",
      "fp8_param_gather", "allowed", RuleSource::megatron_lm_arguments, "Megatron-LM training/arguments.py:validate_args"},
     RuleScope::megatron_lm,
     {},
     Reads{On::optimizer_offload},
     [](const Case& c) {
       const bool applies = c.layout.offload.optimizer_fraction > 0 && c.training().precision != Precision::fp8_delayed;
       return none_of(applies, c.training().fp8_param_gather);
     }},
};

}  // namespace

std::span<const Rule> offload_rules() { return kRules; }

}  // namespace shardfit::layout
