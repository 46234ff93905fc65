// SPDX-License-Identifier: Apache-2.0
// Megatron's hybrid_layer_pattern, "M-M*|M-M-/MM".
#include "layout/rules/rule.hpp"

namespace shardfit::layout {
namespace {

constexpr std::string_view kWhere = "Megatron-LM core/models/hybrid/hybrid_layer_allocation.py";

bool asked(const Case& c) { return c.layout.split.kind == SplitKind::hybrid_pattern; }
bool sound(const Case& c) { return asked(c) && c.split.readable; }

constexpr Rule kRules[] = {
    {{"hybrid_pattern_readable", "pipeline", "the hybrid pattern has only M G * D + - E, | and /", "readable", "needed",
      RuleSource::megatron_core, kWhere},
     RuleScope::everywhere,
     {},
     Reads{On::pp, On::vpp, On::split},
     [](const Case& c) { return asked(c) ? equals(c.split.readable, 1) : kPass; }},
    {{"hybrid_pattern_attention", "pipeline", "the hybrid pattern does not mix * with D or +", "mixed", "allowed",
      RuleSource::megatron_core, kWhere},
     RuleScope::everywhere,
     {},
     Reads{On::pp, On::vpp, On::split},
     [](const Case& c) { return sound(c) ? at_most(c.split.kinds_mixed, 0) : kPass; }},
    {{"hybrid_pattern_mtp_alike", "pipeline", "all MTP patterns after / are the same", "same", "needed",
      RuleSource::megatron_core, kWhere},
     RuleScope::everywhere,
     {},
     Reads{On::pp, On::vpp, On::split},
     [](const Case& c) { return sound(c) ? equals(c.split.mtp_alike, 1) : kPass; }},
    {{"hybrid_pattern_layers", "pipeline", "the hybrid pattern has a symbol for every layer", "symbols", "num_hidden_layers",
      RuleSource::megatron_lm_arguments, "Megatron-LM training/arguments.py:validate_args"},
     RuleScope::everywhere,
     {},
     Reads{On::pp, On::vpp, On::split},
     [](const Case& c) { return sound(c) ? equals(c.split.layers, c.job.layers) : kPass; }},
    {{"hybrid_pattern_kinds", "pipeline", "each symbol of the hybrid pattern is the model's layer at that place",
      "first layer that differs", "none (-1)", RuleSource::shardfit, "the pattern is the model in Megatron-LM"},
     RuleScope::everywhere,
     {},
     Reads{On::pp, On::vpp, On::split},
     [](const Case& c) { return sound(c) && c.split.layers == c.job.layers ? equals(c.split.first_mismatch, -1) : kPass; }},
    {{"hybrid_pattern_mtp", "pipeline", "a hybrid pattern with / has one MTP pattern a depth", "MTP patterns", "mtp_layers",
      RuleSource::megatron_lm_arguments, "Megatron-LM training/arguments.py:validate_args"},
     RuleScope::everywhere,
     {},
     Reads{On::pp, On::vpp, On::split},
     [](const Case& c) { return sound(c) && c.split.mtp > 0 ? equals(c.split.mtp, c.job.mtp) : kPass; }},
    {{"pp_divides_hybrid_pattern", "pipeline", "pp divides the parts of the hybrid pattern; its layers if it has no |", "pp",
      "parts or layers", RuleSource::megatron_core, kWhere},
     RuleScope::everywhere,
     {Axis::pp},
     Reads{On::pp, On::vpp, On::split},
     [](const Case& c) {
       if (!sound(c)) return kPass;
       return divides(c.layout.pp, c.split.chunks > 1 ? c.split.chunks : c.split.layers);
     }},
    {{"hybrid_pattern_sets_vpp", "pipeline", "vpp is the parts of the hybrid pattern over pp; 1 if it has no |", "vpp",
      "parts / pp", RuleSource::megatron_core, kWhere},
     RuleScope::everywhere,
     {Axis::vpp, Axis::pp},
     Reads{On::pp, On::vpp, On::split},
     [](const Case& c) {
       if (!sound(c)) return kPass;
       if (c.split.chunks == 1) return equals(c.layout.vpp, 1);
       return c.split.chunks % c.layout.pp == 0 ? equals(c.layout.vpp, c.split.chunks / c.layout.pp) : kPass;
     }},
};

}  // namespace

std::span<const Rule> hybrid_pattern_rules() { return kRules; }

}  // namespace shardfit::layout
