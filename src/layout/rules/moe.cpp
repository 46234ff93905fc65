// SPDX-License-Identifier: Apache-2.0
// Mixture of experts: experts, routing, capacity, fused experts, the shared expert.
#include "layout/rules/rule.hpp"

namespace shardfit::layout {
namespace {

constexpr std::string_view kConfig = "Megatron-LM core/transformer/transformer_config.py:__post_init__";

bool moe(const Case& c) { return c.job.experts > 0; }
bool flex(const Case& c) { return c.layout.dispatcher == Dispatcher::deepep || c.layout.dispatcher == Dispatcher::hybridep; }
/// Bridge turns the overlap off by itself where the dispatcher is a flex one: see alterations.
bool shared_overlap(const Case& c) {
  const bool bridge_off = flex(c) && c.job.scopes.contains(RuleScope::megatron_bridge);
  return moe(c) && c.job.shared_ffn > 0 && c.stack().moe_shared_expert_overlap && !bridge_off;
}

Finding router_groups(const Case& c) {
  for (const MlpSpec& mlp : c.model().text.mlps) {
    const auto* spec = std::get_if<MoeMlpSpec>(&mlp.kind);
    if (spec != nullptr && spec->router.n_group > 0 && spec->num_experts % spec->router.n_group != 0)
      return {true, spec->router.n_group, spec->num_experts};
  }
  return kPass;
}

Finding router_group_topk(const Case& c) {
  for (const MlpSpec& mlp : c.model().text.mlps) {
    const auto* spec = std::get_if<MoeMlpSpec>(&mlp.kind);
    if (spec != nullptr && spec->router.topk_group > spec->router.n_group && spec->router.n_group > 0)
      return {true, spec->router.topk_group, spec->router.n_group};
  }
  return kPass;
}

constexpr Rule kRules[] = {
    {{"ep_needs_experts", "moe", "ep above 1 needs a model with experts", "ep", "most ep", RuleSource::megatron_core, kConfig},
     RuleScope::everywhere,
     {Axis::ep},
     Reads{On::ep},
     [](const Case& c) { return moe(c) ? kPass : at_most(c.layout.ep, 1); }},
    {{"ep_divides_experts", "moe", "ep divides num_experts", "ep", "num_experts", RuleSource::megatron_core,
      "Megatron-LM training/arguments.py:validate_args; core/transformer/moe/moe_layer.py"},
     RuleScope::everywhere,
     {Axis::ep},
     Reads{On::ep},
     [](const Case& c) { return divides(c.layout.ep, c.job.experts); }},
    {{"moe_bias_etp", "moe", "experts with biases need etp 1", "etp", "most etp", RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {Axis::etp},
     Reads{On::etp},
     [](const Case& c) { return c.job.expert_bias ? at_most(c.layout.etp, 1) : kPass; }},
    {{"router_groups", "moe", "routing groups divide num_experts", "n_group", "num_experts", RuleSource::megatron_core,
      kConfig},
     RuleScope::megatron,
     {},
     kJobAlone,
     router_groups},
    {{"router_group_topk", "moe", "no more routing groups are chosen than there are", "topk_group", "n_group",
      RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     kJobAlone,
     router_group_topk},
    {{"padding_needs_capacity", "moe", "pad_to_capacity needs expert_capacity_factor", "capacity factor set", "needed",
      RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     kJobAlone,
     [](const Case& c) {
       return moe(c) && c.training().pad_to_capacity ? equals(c.training().expert_capacity_factor > 0, 1) : kPass;
     }},
    {{"rank_capacity_dispatcher", "moe", "expert_rank_capacity_factor needs the hybridep dispatcher", "hybridep", "needed",
      RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     Reads{On::dispatcher},
     [](const Case& c) {
       return moe(c) && c.stack().expert_rank_capacity_factor > 0 ? equals(c.layout.dispatcher == Dispatcher::hybridep, 1)
                                                                  : kPass;
     }},
    {{"paged_stash_capacity", "moe", "a paged stash needs expert_rank_capacity_factor", "factor set", "needed",
      RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     kJobAlone,
     [](const Case& c) {
       return moe(c) && c.stack().paged_stash ? equals(c.stack().expert_rank_capacity_factor > 0, 1) : kPass;
     }},
    {{"paged_stash_offload", "moe", "a paged stash excludes layer-level offload and offload of expert activations",
      "offloaded layers and expert modules", "most", RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     kJobAlone,
     [](const Case& c) {
       constexpr EnumSet<OffloadModule> kExpert{OffloadModule::expert_fc1, OffloadModule::moe_act,
                                                OffloadModule::fused_group_mlp};
       const int offloaded = c.layout.offload.activation_layers + (c.layout.offload.activation_modules & kExpert).size();
       return none_of(moe(c) && c.stack().paged_stash, offloaded);
     }},
    {{"fused_experts_etp", "moe", "fused grouped experts need etp 1", "etp", "most etp", RuleSource::megatron_core,
      "Megatron-LM core/transformer/moe/experts.py:_is_fused_impl_supported"},
     RuleScope::megatron,
     {Axis::etp},
     Reads{On::etp},
     [](const Case& c) { return moe(c) && c.stack().fused_grouped_mlp ? at_most(c.layout.etp, 1) : kPass; }},
    {{"fused_experts_offload", "moe", "fused grouped experts exclude offload of expert_fc1 and moe_act",
      "such offloaded modules", "most", RuleSource::megatron_core,
      "Megatron-LM core/transformer/moe/experts.py:_is_fused_impl_supported"},
     RuleScope::megatron,
     {},
     kJobAlone,
     [](const Case& c) {
       constexpr EnumSet<OffloadModule> kParts{OffloadModule::expert_fc1, OffloadModule::moe_act};
       return none_of(moe(c) && c.stack().fused_grouped_mlp, (c.layout.offload.activation_modules & kParts).size());
     }},
    {{"shared_overlap_dispatcher", "moe", "overlap of the shared expert needs another dispatcher than allgather", "allgather",
      "allowed", RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     Reads{On::dispatcher},
     [](const Case& c) { return none_of(shared_overlap(c), c.layout.dispatcher == Dispatcher::allgather); }},
    {{"shared_overlap_latent", "moe", "overlap of the shared expert excludes experts of a latent width", "latent", "allowed",
      RuleSource::megatron_core, "Megatron-LM core/transformer/moe/moe_layer.py"},
     RuleScope::megatron,
     {},
     Reads{On::dispatcher},
     [](const Case& c) { return none_of(shared_overlap(c), c.job.has_latent_experts); }},
    {{"shared_overlap_expert_overlap", "moe", "overlap of the shared expert excludes overlap of expert traffic",
      "expert_alltoall", "allowed", RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     Reads{On::dispatcher, On::expert_overlap},
     [](const Case& c) { return none_of(shared_overlap(c), c.layout.overlap.expert_alltoall); }},
};

}  // namespace

std::span<const Rule> moe_rules() { return kRules; }

}  // namespace shardfit::layout
