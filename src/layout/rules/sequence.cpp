// SPDX-License-Identifier: Apache-2.0
// Sequence, context parallelism and packing.
#include <algorithm>
#include <numeric>

#include "layout/rules/rule.hpp"

namespace shardfit::layout {
namespace {

/// Key/value heads of a tensor-parallel rank; the full heads where a mixer has no separate count.
int kv_heads_per_rank(const MixerKind& kind, int tp) {
  const auto* gqa = std::get_if<GqaSpec>(&kind);
  if (gqa == nullptr) return 0;
  return std::max(1, gqa->num_key_value_heads / tp);
}

/// Heads of a rank that the all-to-all can share out: gcd of query and key/value heads over the mixers.
int heads_to_share(const Case& c) {
  int heads = c.job.attention_heads / c.layout.tp;
  for (const MixerSpec& mixer : c.model().text.mixers) heads = std::gcd(heads, kv_heads_per_rank(mixer.kind, c.layout.tp));
  return heads;
}

/// a2a+p2p splits cp in a (heads) times q (ring), both above 1; a has to divide the heads of a rank.
Finding hierarchical_cp(const Case& c) {
  if (c.layout.cp == 1 || c.layout.cp_comm_type != CpCommType::a2a_p2p) return kPass;
  const int heads = c.job.attention_heads > 0 ? heads_to_share(c) : c.layout.cp;
  for (int a = 2; a < c.layout.cp; ++a)
    if (c.layout.cp % a == 0 && heads % a == 0) return kPass;
  return {true, c.layout.cp, heads};
}

bool uses(const Case& c, CpCommType type) { return c.layout.cp_comm_type == type; }

constexpr Rule kRules[] = {
    {{"sequence_divides_cp", "sequence", "with cp above 1 the sequence is a multiple of 2 * cp", "2 * cp", "sequence_length",
      RuleSource::megatron_core,
      "Megatron-LM core/utils.py:get_batch_on_this_cp_rank; training/arguments.py; Megatron-Bridge training/config.py"},
     RuleScope::megatron,
     {Axis::cp},
     Reads{On::cp},
     [](const Case& c) { return c.layout.cp > 1 ? divides(2 * c.layout.cp, c.job.sequence) : kPass; }},
    {{"sequence_divides_tp", "sequence", "with sequence parallelism cp * tp divides the sequence", "cp * tp", "sequence_length",
      RuleSource::megatron_core, "Megatron-LM core/tensor_parallel/mappings.py"},
     RuleScope::megatron,
     {Axis::tp, Axis::cp},
     Reads{On::tp, On::cp},
     [](const Case& c) { return c.layout.sequence_parallel ? divides(c.layout.cp * c.layout.tp, c.job.sequence) : kPass; }},
    {{"learned_positions", "sequence", "the sequence is no longer than the learned position table", "sequence_length",
      "rows of the table", RuleSource::shardfit, "an index past the end of an embedding table"},
     RuleScope::everywhere,
     {},
     kJobAlone,
     [](const Case& c) { return c.job.learned_positions > 0 ? at_most(c.job.sequence, c.job.learned_positions) : kPass; }},
    {{"cp_a2a_heads", "sequence", "cp_comm_type a2a: cp divides the query and key/value heads of a tp rank", "cp",
      "gcd of the heads", RuleSource::transformer_engine,
      "TransformerEngine pytorch/attention/dot_product_attention/context_parallel.py"},
     RuleScope::megatron,
     {Axis::cp, Axis::tp},
     Reads{On::tp, On::cp, On::cp_comm_type},
     [](const Case& c) {
       return c.layout.cp > 1 && uses(c, CpCommType::a2a) && c.job.attention_heads > 0 ? divides(c.layout.cp, heads_to_share(c))
                                                                                       : kPass;
     }},
    {{"hierarchical_cp", "sequence",
      "cp_comm_type a2a+p2p: cp is a product of two sizes above 1, the first dividing the heads of a tp rank", "cp",
      "gcd of the heads", RuleSource::megatron_bridge,
      "Megatron-Bridge training/config.py:_validate_cp_comm_type; Megatron-LM training/arguments.py"},
     RuleScope::megatron,
     {Axis::cp},
     Reads{On::tp, On::cp, On::cp_comm_type},
     hierarchical_cp},
    {{"window_cp", "sequence", "sliding-window attention with cp above 1 needs cp_comm_type a2a or all_gather", "cp",
      "most cp otherwise", RuleSource::transformer_engine,
      "TransformerEngine pytorch/attention/dot_product_attention/context_parallel.py"},
     RuleScope::megatron,
     {Axis::cp},
     Reads{On::cp, On::cp_comm_type},
     [](const Case& c) {
       const bool served = uses(c, CpCommType::a2a) || uses(c, CpCommType::all_gather);
       return c.job.has_window && !c.job.has_compressed && !served ? at_most(c.layout.cp, 1) : kPass;
     }},
    {{"sinks_cp", "sequence", "attention sinks with cp above 1 need cp_comm_type a2a", "cp", "most cp otherwise",
      RuleSource::transformer_engine, "TransformerEngine pytorch/attention/dot_product_attention/context_parallel.py"},
     RuleScope::megatron,
     {Axis::cp},
     Reads{On::cp, On::cp_comm_type},
     [](const Case& c) {
       return c.job.has_sinks && !c.job.has_compressed && !uses(c, CpCommType::a2a) ? at_most(c.layout.cp, 1) : kPass;
     }},
    {{"compressed_attention_cp", "sequence",
      "attention over compressed or chosen keys with cp above 1 needs cp_comm_type all_gather", "cp", "most cp otherwise",
      RuleSource::megatron_core, "Megatron-LM core/transformer/transformer_config.py:__post_init__"},
     RuleScope::megatron,
     {Axis::cp},
     Reads{On::cp, On::cp_comm_type},
     [](const Case& c) { return c.job.has_compressed && !uses(c, CpCommType::all_gather) ? at_most(c.layout.cp, 1) : kPass; }},
    {{"offline_packing_batch", "sequence", "rows packed offline train with micro_batch_size 1", "micro_batch_size", "most",
      RuleSource::megatron_bridge, "Megatron-Bridge training/config.py:validate"},
     RuleScope::megatron_bridge,
     {Axis::micro_batch_size},
     Reads{On::micro_batch_size},
     [](const Case& c) { return c.training().packing == Packing::offline ? at_most(c.layout.micro_batch_size, 1) : kPass; }},
    {{"batch_packing_batch", "sequence", "packing inside the micro-batch needs micro_batch_size of at least 2",
      "micro_batch_size", "least", RuleSource::megatron_bridge, "Megatron-Bridge training/config.py:validate"},
     RuleScope::megatron_bridge,
     {Axis::micro_batch_size},
     Reads{On::micro_batch_size},
     [](const Case& c) { return c.training().packing == Packing::in_batch ? at_least(c.layout.micro_batch_size, 2) : kPass; }},
};

}  // namespace

std::span<const Rule> sequence_rules() { return kRules; }

}  // namespace shardfit::layout
