// SPDX-License-Identifier: Apache-2.0
// Recompute: granularity, modules that the model has, what cannot be recomputed.
#include "layout/rules/rule.hpp"

namespace shardfit::layout {
namespace {

constexpr std::string_view kConfig = "Megatron-LM core/transformer/transformer_config.py:__post_init__";
constexpr std::string_view kNothing = "the module would do nothing";

constexpr Rule kRules[] = {
    {{"full_recompute_layers", "recompute", "full recompute takes at least one layer at a time", "recompute.num_layers",
      "least", RuleSource::megatron_core, kConfig},
     RuleScope::everywhere,
     {Axis::recompute_num_layers},
     Reads{On::recompute},
     [](const Case& c) { return c.full_recompute() ? at_least(c.layout.recompute.num_layers, 1) : kPass; }},
    {{"full_recompute_within_model", "recompute", "full recompute takes no more layers at a time than the model has",
      "recompute.num_layers", "num_hidden_layers", RuleSource::shardfit, "a larger group is the whole chunk"},
     RuleScope::everywhere,
     {Axis::recompute_num_layers},
     Reads{On::recompute},
     [](const Case& c) { return c.full_recompute() ? at_most(c.layout.recompute.num_layers, c.job.layers) : kPass; }},
    {{"mtp_uniform_recompute", "recompute", "uniform full recompute of a model with MTP takes one layer at a time",
      "recompute.num_layers", "most", RuleSource::megatron_core,
      "Megatron-LM core/transformer/multi_token_prediction.py:_checkpointed_forward"},
     RuleScope::megatron,
     {Axis::recompute_num_layers},
     Reads{On::recompute},
     [](const Case& c) {
       const bool uniform = c.full_recompute() && c.layout.recompute.method == RecomputeMethod::uniform;
       return uniform && c.job.mtp > 0 ? at_most(c.layout.recompute.num_layers, 1) : kPass;
     }},
    {{"selective_has_modules", "recompute", "selective recompute names at least one module", "modules", "least",
      RuleSource::shardfit, "Megatron's default is core_attn: name it"},
     RuleScope::everywhere,
     {},
     Reads{On::recompute},
     [](const Case& c) {
       const bool selective = c.layout.recompute.granularity == RecomputeGranularity::selective;
       return selective ? at_least(c.layout.recompute.modules.size(), 1) : kPass;
     }},
    {{"recompute_moe_act_grouped", "recompute", "recompute of moe_act needs grouped GEMM", "grouped_gemm", "needed",
      RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     Reads{On::recompute},
     [](const Case& c) { return c.selective(RecomputeModule::moe_act) ? equals(c.stack().grouped_gemm, 1) : kPass; }},
    {{"recompute_mla", "recompute", "recompute of mla_up_proj needs latent attention", "latent attention", "needed",
      RuleSource::megatron_core, kConfig},
     RuleScope::everywhere,
     {},
     Reads{On::recompute},
     [](const Case& c) {
       return c.selective(RecomputeModule::mla_up_proj) ? equals(c.job.has_mla || c.job.has_compressed, 1) : kPass;
     }},
    {{"recompute_gdn", "recompute", "recompute of gdn_norm_out needs gated DeltaNet", "gated DeltaNet", "needed",
      RuleSource::megatron_core, kConfig},
     RuleScope::everywhere,
     {},
     Reads{On::recompute},
     [](const Case& c) { return c.selective(RecomputeModule::gdn_norm_out) ? equals(c.job.gdn_key_heads > 0, 1) : kPass; }},
    {{"recompute_experts", "recompute", "recompute of moe_act or moe needs experts", "experts", "least", RuleSource::shardfit,
      kNothing},
     RuleScope::everywhere,
     {},
     Reads{On::recompute},
     [](const Case& c) {
       const bool asked = c.selective(RecomputeModule::moe_act) || c.selective(RecomputeModule::moe);
       return asked ? at_least(c.job.experts, 1) : kPass;
     }},
    {{"recompute_shared_expert", "recompute", "recompute of shared_experts needs a shared expert", "its width", "least",
      RuleSource::shardfit, kNothing},
     RuleScope::everywhere,
     {},
     Reads{On::recompute},
     [](const Case& c) { return c.selective(RecomputeModule::shared_experts) ? at_least(c.job.shared_ffn, 1) : kPass; }},
    {{"recompute_dense_mlp", "recompute", "recompute of mlp needs dense MLPs", "their width", "least", RuleSource::shardfit,
      kNothing},
     RuleScope::everywhere,
     {},
     Reads{On::recompute},
     [](const Case& c) { return c.selective(RecomputeModule::mlp) ? at_least(c.job.dense_ffn, 1) : kPass; }},
    {{"recompute_attention", "recompute", "recompute of core_attn needs softmax attention", "attention heads", "least",
      RuleSource::shardfit, kNothing},
     RuleScope::everywhere,
     {},
     Reads{On::recompute},
     [](const Case& c) { return c.selective(RecomputeModule::core_attn) ? at_least(c.job.attention_heads, 1) : kPass; }},
    {{"recompute_shared_overlap", "recompute", "recompute of shared_experts excludes overlap of the shared expert", "overlap",
      "allowed", RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     Reads{On::recompute},
     [](const Case& c) {
       return none_of(c.selective(RecomputeModule::shared_experts) && c.job.shared_ffn > 0,
                      c.stack().moe_shared_expert_overlap);
     }},
    {{"recompute_delayed_scaling", "recompute", "fp8 with delayed scaling excludes recompute of moe_act and layernorm",
      "such modules", "most", RuleSource::megatron_core, kConfig},
     RuleScope::megatron,
     {},
     Reads{On::recompute},
     [](const Case& c) {
       const int modules = c.selective(RecomputeModule::moe_act) + c.selective(RecomputeModule::layernorm);
       return none_of(c.training().precision == Precision::fp8_delayed, modules);
     }},
};

}  // namespace

std::span<const Rule> recompute_rules() { return kRules; }

}  // namespace shardfit::layout
