// SPDX-License-Identifier: Apache-2.0
// Megatron-FSDP (sharding optimizer_grads and full) and torch FSDP2 (full_torch).
#include "layout/rules/rule.hpp"

namespace shardfit::layout {
namespace {

constexpr std::string_view kAdapter = "Megatron-LM core/distributed/fsdp/mcore_fsdp_adapter.py";
constexpr std::string_view kArguments = "Megatron-LM training/arguments.py:validate_args";

bool fsdp2(const Case& c) { return c.layout.sharding == Sharding::full_torch; }

constexpr Rule kRules[] = {
    {{"fsdp_optimizer", "fsdp", "Megatron-FSDP runs Adam and SGD", "muon", "allowed", RuleSource::megatron_lm_arguments,
      kArguments},
     RuleScope::megatron_lm,
     {},
     Reads{On::sharding},
     [](const Case& c) { return none_of(c.fsdp(), c.training().optimizer.kind == OptimizerKind::muon); }},
    {{"fsdp_expert_overlap_pp", "fsdp", "overlap of expert traffic with Megatron-FSDP needs pp 1", "pp", "most",
      RuleSource::megatron_core, "Megatron-LM core/pipeline_parallel/combined_1f1b.py"},
     RuleScope::megatron,
     {Axis::pp},
     Reads{On::pp, On::sharding, On::expert_overlap},
     [](const Case& c) { return c.fsdp() && c.layout.overlap.expert_alltoall ? at_most(c.layout.pp, 1) : kPass; }},
    {{"fsdp_expert_overlap_buffer", "fsdp", "overlap of expert traffic with Megatron-FSDP excludes its double buffer",
      "double buffer", "allowed", RuleSource::megatron_core, kAdapter},
     RuleScope::megatron,
     {},
     Reads{On::sharding, On::expert_overlap},
     [](const Case& c) { return none_of(c.fsdp() && c.layout.overlap.expert_alltoall, c.layout.fsdp_double_buffer); }},
    {{"fsdp_expert_overlap_graphs", "fsdp", "overlap of expert traffic with Megatron-FSDP excludes graphs but full_iteration",
      "per-layer graphs", "allowed", RuleSource::megatron_core, kAdapter},
     RuleScope::megatron,
     {},
     Reads{On::sharding, On::cuda_graph, On::expert_overlap},
     [](const Case& c) {
       const CudaGraphImpl impl = c.layout.cuda_graph.impl;
       return none_of(c.fsdp() && c.layout.overlap.expert_alltoall,
                      impl == CudaGraphImpl::local || impl == CudaGraphImpl::transformer_engine);
     }},
    {{"double_buffer_needs_fsdp", "fsdp", "the double buffer needs Megatron-FSDP", "FSDP", "needed", RuleSource::shardfit,
      "the buffer would do nothing"},
     RuleScope::megatron,
     {},
     Reads{On::sharding},
     [](const Case& c) { return c.layout.fsdp_double_buffer ? equals(c.fsdp(), 1) : kPass; }},
    {{"fsdp2_pp", "fsdp", "torch FSDP2 in Megatron-LM needs pp 1", "pp", "most", RuleSource::megatron_lm_arguments, kArguments},
     RuleScope::megatron_lm,
     {Axis::pp},
     Reads{On::pp, On::sharding},
     [](const Case& c) { return fsdp2(c) ? at_most(c.layout.pp, 1) : kPass; }},
    {{"fsdp2_ep", "fsdp", "torch FSDP2 in Megatron-LM needs ep 1", "ep", "most", RuleSource::megatron_lm_arguments, kArguments},
     RuleScope::megatron_lm,
     {Axis::ep},
     Reads{On::ep, On::sharding},
     [](const Case& c) { return fsdp2(c) ? at_most(c.layout.ep, 1) : kPass; }},
    {{"fsdp2_fusion", "fsdp", "torch FSDP2 in Megatron-LM excludes grad_accumulation_fusion", "fusion", "allowed",
      RuleSource::megatron_lm_arguments, kArguments},
     RuleScope::megatron_lm,
     {},
     Reads{On::sharding},
     [](const Case& c) { return none_of(fsdp2(c), c.stack().grad_accumulation_fusion); }},
    {{"fsdp2_untied", "fsdp", "torch FSDP2 in Megatron-LM excludes tied embeddings", "tied", "allowed",
      RuleSource::megatron_lm_arguments, kArguments},
     RuleScope::megatron_lm,
     {},
     Reads{On::sharding},
     [](const Case& c) { return none_of(fsdp2(c), c.model().text.tie_word_embeddings); }},
    {{"fsdp2_fp16", "fsdp", "torch FSDP2 in Megatron-LM excludes fp16", "fp16", "allowed", RuleSource::megatron_lm_arguments,
      kArguments},
     RuleScope::megatron_lm,
     {},
     Reads{On::sharding},
     [](const Case& c) { return none_of(fsdp2(c), c.training().precision == Precision::fp16); }},
    {{"fsdp2_muon", "fsdp", "torch FSDP2 in Megatron-LM excludes Muon", "muon", "allowed", RuleSource::megatron_lm_arguments,
      kArguments},
     RuleScope::megatron_lm,
     {},
     Reads{On::sharding},
     [](const Case& c) { return none_of(fsdp2(c), c.training().optimizer.kind == OptimizerKind::muon); }},
    {{"torch_layerwise", "fsdp", "torch FSDP2 tools have no layer-wise optimizer", "layerwise", "allowed", RuleSource::torch,
      "torch/distributed/fsdp"},
     RuleScope::torch,
     {},
     Reads{On::sharding},
     [](const Case& c) { return at_most(c.layout.sharding == Sharding::layerwise, 0); }},
};

}  // namespace

std::span<const Rule> fsdp_rules() { return kRules; }

}  // namespace shardfit::layout
