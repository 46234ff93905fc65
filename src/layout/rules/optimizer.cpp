// SPDX-License-Identifier: Apache-2.0
// Optimizer kinds, state types, gradient and parameter overlap, optimizer instances.
#include "layout/rules/rule.hpp"

namespace shardfit::layout {
namespace {

constexpr std::string_view kConfig = "Megatron-LM core/optimizer/optimizer_config.py:__post_init__";

bool sharded(const Case& c) { return c.layout.sharding != Sharding::none; }
bool muon(const Case& c) { return c.training().optimizer.kind == OptimizerKind::muon; }

constexpr Rule kRules[] = {
    {{"param_overlap_sharding", "optimizer", "overlap of parameter gathers needs a distributed optimizer or FSDP", "sharded",
      "needed", RuleSource::megatron_lm_arguments, "Megatron-LM training/arguments.py:validate_args"},
     RuleScope::megatron_lm,
     {},
     Reads{On::sharding},
     [](const Case& c) { return c.layout.overlap.param_gather ? equals(sharded(c), 1) : kPass; }},
    {{"param_overlap_grad_overlap", "optimizer", "overlap of parameter gathers needs overlap of gradient reduction",
      "overlap.grad_reduce", "needed", RuleSource::megatron_lm_arguments, "Megatron-LM training/arguments.py:validate_args"},
     RuleScope::megatron_lm,
     {},
     kJobAlone,
     [](const Case& c) { return c.layout.overlap.param_gather ? equals(c.layout.overlap.grad_reduce, 1) : kPass; }},
    {{"instances_need_sharding", "optimizer", "several optimizer instances need a distributed optimizer", "optimizer_instances",
      "most", RuleSource::megatron_core, "Megatron-LM core/distributed/distributed_data_parallel.py"},
     RuleScope::megatron,
     {Axis::optimizer_instances},
     Reads{On::sharding, On::optimizer_instances},
     [](const Case& c) { return sharded(c) ? kPass : at_most(c.layout.optimizer_instances, 1); }},
    {{"layerwise_instances", "optimizer", "the layer-wise optimizer has one instance", "optimizer_instances", "most",
      RuleSource::megatron_core, "Megatron-LM core/optimizer/layer_wise_optimizer.py"},
     RuleScope::megatron,
     {Axis::optimizer_instances},
     Reads{On::sharding, On::optimizer_instances},
     [](const Case& c) {
       const bool layerwise = c.layout.sharding == Sharding::layerwise || (muon(c) && sharded(c));
       return layerwise ? at_most(c.layout.optimizer_instances, 1) : kPass;
     }},
    {{"layerwise_needs_muon", "optimizer", "layer-wise sharding is Muon's", "muon", "needed", RuleSource::megatron_core,
      "Megatron-LM training/arguments.py:validate_args (use_layer_wise_distributed_optimizer)"},
     RuleScope::everywhere,
     {},
     Reads{On::sharding},
     [](const Case& c) { return c.layout.sharding == Sharding::layerwise ? equals(muon(c), 1) : kPass; }},
    {{"precision_aware_adam", "optimizer", "the precision-aware optimizer is Adam", "adam", "needed", RuleSource::megatron_core,
      kConfig},
     RuleScope::megatron,
     {},
     kJobAlone,
     [](const Case& c) {
       const OptimizerSpec& optimizer = c.training().optimizer;
       return optimizer.precision_aware ? equals(optimizer.kind == OptimizerKind::adam, 1) : kPass;
     }},
    {{"state_types", "optimizer", "optimizer state in other types than fp32 needs the precision-aware optimizer",
      "types that are not fp32", "most", RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     kJobAlone,
     [](const Case& c) {
       const OptimizerSpec& o = c.training().optimizer;
       const int others = (o.main_params_dtype != DType::fp32) + (o.main_grads_dtype != DType::fp32) +
                          (o.exp_avg_dtype != DType::fp32) + (o.exp_avg_sq_dtype != DType::fp32);
       return none_of(!o.precision_aware, others);
     }},
};

}  // namespace

std::span<const Rule> optimizer_rules() { return kRules; }

}  // namespace shardfit::layout
