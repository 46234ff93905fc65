// SPDX-License-Identifier: Apache-2.0
// Tensor and sequence parallelism: heads and widths that tp, cp and etp cut.
#include "layout/rules/rule.hpp"

namespace shardfit::layout {
namespace {

/// FP8 GEMMs want the inner width of Mamba's input projection in multiples of this.
constexpr int kFp8Alignment = 16;

/// First grouped-query mixer whose key/value heads and tp do not divide one another.
Finding kv_heads(const Case& c) {
  for (const MixerSpec& mixer : c.model().text.mixers) {
    const auto* gqa = std::get_if<GqaSpec>(&mixer.kind);
    if (gqa == nullptr) continue;
    const int heads = gqa->num_key_value_heads;
    if (heads % c.layout.tp != 0 && c.layout.tp % heads != 0) return {true, c.layout.tp, heads};
  }
  return kPass;
}

Finding gdn_heads_per_group(const Case& c) {
  for (const MixerSpec& mixer : c.model().text.mixers) {
    const auto* gdn = std::get_if<GatedDeltaNetSpec>(&mixer.kind);
    if (gdn != nullptr && gdn->num_value_heads % gdn->num_key_heads != 0)
      return {true, gdn->num_key_heads, gdn->num_value_heads};
  }
  return kPass;
}

Finding mamba_heads_per_group(const Case& c) {
  for (const MixerSpec& mixer : c.model().text.mixers) {
    const auto* mamba = std::get_if<Mamba2Spec>(&mixer.kind);
    if (mamba != nullptr && mamba->num_heads % mamba->n_groups != 0) return {true, mamba->n_groups, mamba->num_heads};
  }
  return kPass;
}

/// Under context parallelism a rank has whole groups, or a group's state is repeated over whole sets of ranks.
Finding mamba_groups_cp(const Case& c) {
  if (c.layout.cp == 1 || c.job.mamba_groups == 0 || c.job.mamba_groups % c.layout.tp != 0) return kPass;
  const int groups = c.job.mamba_groups / c.layout.tp;
  return groups < c.layout.cp ? divides(groups, c.layout.cp) : divides(c.layout.cp, groups);
}

constexpr Rule kRules[] = {
    {{"tp_divides_heads", "tensor", "tp divides num_attention_heads", "tp", "num_attention_heads", RuleSource::megatron_core,
      "Megatron-LM core/transformer/transformer_config.py:__post_init__"},
     RuleScope::everywhere,
     {Axis::tp},
     Reads{On::tp},
     [](const Case& c) { return divides(c.layout.tp, c.job.attention_heads); }},
    {{"tp_suits_kv_heads", "tensor", "tp divides num_key_value_heads, or is a multiple of it", "tp", "num_key_value_heads",
      RuleSource::megatron_core, "Megatron-LM core/transformer/transformer_config.py:__post_init__"},
     RuleScope::everywhere,
     {Axis::tp},
     Reads{On::tp},
     kv_heads},
    {{"gdn_key_heads", "tensor", "tp * cp divides the key heads of gated DeltaNet", "tp * cp", "num_key_heads",
      RuleSource::megatron_core, "Megatron-LM core/transformer/transformer_config.py:__post_init__"},
     RuleScope::megatron,
     {Axis::tp, Axis::cp},
     Reads{On::tp, On::cp},
     [](const Case& c) { return divides(c.layout.tp * c.layout.cp, c.job.gdn_key_heads); }},
    {{"gdn_value_heads", "tensor", "tp * cp divides the value heads of gated DeltaNet", "tp * cp", "num_value_heads",
      RuleSource::megatron_core, "Megatron-LM core/transformer/transformer_config.py:__post_init__"},
     RuleScope::megatron,
     {Axis::tp, Axis::cp},
     Reads{On::tp, On::cp},
     [](const Case& c) { return divides(c.layout.tp * c.layout.cp, c.job.gdn_value_heads); }},
    {{"gdn_heads_per_group", "tensor", "key heads divide the value heads of gated DeltaNet", "num_key_heads", "num_value_heads",
      RuleSource::megatron_core, "Megatron-LM core/transformer/transformer_config.py:__post_init__"},
     RuleScope::megatron,
     {},
     kJobAlone,
     gdn_heads_per_group},
    {{"mamba_heads", "tensor", "tp * cp divides Mamba's heads", "tp * cp", "num_heads", RuleSource::megatron_core,
      "Megatron-LM core/ssm/mamba_mixer.py; core/ssm/mamba_context_parallel.py"},
     RuleScope::megatron,
     {Axis::tp, Axis::cp},
     Reads{On::tp, On::cp},
     [](const Case& c) { return divides(c.layout.tp * c.layout.cp, c.job.mamba_heads); }},
    {{"mamba_groups", "tensor", "tp divides Mamba's groups", "tp", "n_groups", RuleSource::megatron_core,
      "Megatron-LM core/ssm/mamba_mixer.py"},
     RuleScope::megatron,
     {Axis::tp},
     Reads{On::tp},
     [](const Case& c) { return divides(c.layout.tp, c.job.mamba_groups); }},
    {{"mamba_groups_cp", "tensor", "cp and Mamba's groups on a tp rank divide one another (the smaller the larger)",
      "smaller of cp and n_groups / tp", "larger of them", RuleSource::megatron_core,
      "Megatron-LM core/ssm/mamba_context_parallel.py"},
     RuleScope::megatron,
     {Axis::cp, Axis::tp},
     Reads{On::tp, On::cp},
     mamba_groups_cp},
    {{"mamba_heads_per_group", "tensor", "Mamba's groups divide its heads", "n_groups", "num_heads", RuleSource::megatron_core,
      "Megatron-LM core/ssm/mamba_mixer.py"},
     RuleScope::megatron,
     {},
     kJobAlone,
     mamba_heads_per_group},
    {{"mamba_fp8_width", "tensor", "fp8: the width of Mamba's input projection is a multiple of 16", "multiple",
      "width of in_proj", RuleSource::megatron_core, "Megatron-LM core/ssm/mamba_mixer.py"},
     RuleScope::megatron,
     {},
     kJobAlone,
     [](const Case& c) {
       const Precision p = c.training().precision;
       return is_quantized(p) && p != Precision::nvfp4 ? divides(kFp8Alignment, c.job.mamba_in_proj) : kPass;
     }},
    {{"tp_divides_ffn", "tensor", "tp divides the intermediate size of dense MLPs", "tp", "intermediate_size",
      RuleSource::megatron_core, "Megatron-LM core/utils.py:divide, called by every split linear layer"},
     RuleScope::everywhere,
     {Axis::tp},
     Reads{On::tp},
     [](const Case& c) { return divides(c.layout.tp, c.job.dense_ffn); }},
    {{"tp_divides_shared_expert", "tensor", "tp divides the intermediate size of the shared expert", "tp",
      "shared intermediate_size", RuleSource::megatron_core, "Megatron-LM core/utils.py:divide"},
     RuleScope::megatron,
     {Axis::tp},
     Reads{On::tp},
     [](const Case& c) { return divides(c.layout.tp, c.job.shared_ffn); }},
    {{"etp_divides_expert", "tensor", "etp divides the intermediate size of an expert", "etp", "expert intermediate_size",
      RuleSource::megatron_core, "Megatron-LM core/utils.py:divide"},
     RuleScope::everywhere,
     {Axis::etp},
     Reads{On::etp},
     [](const Case& c) { return divides(c.layout.etp, c.job.expert_ffn); }},
    {{"tp_divides_vocabulary", "tensor", "tp divides the vocabulary where it is not padded", "tp", "vocab_size",
      RuleSource::megatron_core, "Megatron-LM training/vocab_utils.py; core/tensor_parallel/utils.py"},
     RuleScope::megatron,
     {Axis::tp},
     Reads{On::tp},
     [](const Case& c) { return c.training().vocab_padding_multiple <= 1 ? divides(c.layout.tp, c.job.vocab) : kPass; }},
    {{"moe_tp_needs_sequence_parallel", "tensor", "a MoE model with tp above 1 trains with sequence parallelism", "tp",
      "most tp without it", RuleSource::megatron_core, "Megatron-LM core/transformer/moe/moe_layer.py:forward"},
     RuleScope::megatron,
     {Axis::sequence_parallel, Axis::tp},
     Reads{On::tp},
     [](const Case& c) { return c.job.experts > 0 && !c.layout.sequence_parallel ? at_most(c.layout.tp, 1) : kPass; }},
    {{"tp_overlap_needs_sequence_parallel", "tensor", "tensor-parallel overlap needs sequence parallelism", "sequence_parallel",
      "needed", RuleSource::megatron_lm_arguments, "Megatron-LM training/arguments.py:validate_args"},
     RuleScope::megatron_lm,
     {Axis::sequence_parallel},
     Reads{On::tp},
     [](const Case& c) {
       const bool on = c.layout.sequence_parallel && c.layout.tp > 1;
       return c.layout.overlap.tp_comm ? equals(on, 1) : kPass;
     }},
};

}  // namespace

std::span<const Rule> tensor_rules() { return kRules; }

}  // namespace shardfit::layout
