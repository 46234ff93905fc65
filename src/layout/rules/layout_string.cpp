// SPDX-License-Identifier: Apache-2.0
// Megatron's pipeline_model_parallel_layout, "Et*4|(t*4|)*14tmL".
#include "layout/rules/rule.hpp"

namespace shardfit::layout {
namespace {

constexpr std::string_view kWhere = "Megatron-LM core/transformer/pipeline_parallel_layer_layout.py";

bool asked(const Case& c) { return c.layout.split.kind == SplitKind::layout_string; }
/// The text can be read, so that its counts mean something.
bool sound(const Case& c) { return asked(c) && c.split.readable; }

constexpr Rule kRules[] = {
    {{"layout_string_readable", "pipeline", "the layout string has only E, t, m, L, |, brackets and *n", "readable", "needed",
      RuleSource::megatron_core, kWhere},
     RuleScope::everywhere,
     {},
     Reads{On::pp, On::vpp, On::split},
     [](const Case& c) { return asked(c) ? equals(c.split.readable, 1) : kPass; }},
    {{"pp_divides_layout_string", "pipeline", "pp divides the parts of the layout string", "pp", "parts",
      RuleSource::megatron_core, kWhere},
     RuleScope::everywhere,
     {Axis::pp},
     Reads{On::pp, On::vpp, On::split},
     [](const Case& c) { return sound(c) ? divides(c.layout.pp, c.split.chunks) : kPass; }},
    {{"layout_string_sets_vpp", "pipeline", "vpp is the parts of the layout string over pp", "vpp", "parts / pp",
      RuleSource::megatron_core, "Megatron-LM core/transformer/transformer_config.py:__post_init__"},
     RuleScope::everywhere,
     {Axis::vpp, Axis::pp},
     Reads{On::pp, On::vpp, On::split},
     [](const Case& c) {
       if (!sound(c) || c.split.chunks % c.layout.pp != 0) return kPass;
       return equals(c.layout.vpp, c.split.chunks / c.layout.pp);
     }},
    {{"layout_string_embedding", "pipeline", "the layout string has one E, before everything else", "E's, 0 if misplaced",
      "needed", RuleSource::megatron_core, kWhere},
     RuleScope::everywhere,
     {},
     Reads{On::pp, On::vpp, On::split},
     [](const Case& c) { return sound(c) ? equals(c.split.embedding_first ? c.split.embeddings : 0, 1) : kPass; }},
    {{"layout_string_loss", "pipeline", "the layout string has one L, after everything else", "L's, 0 if misplaced", "needed",
      RuleSource::megatron_core, kWhere},
     RuleScope::everywhere,
     {},
     Reads{On::pp, On::vpp, On::split},
     [](const Case& c) { return sound(c) ? equals(c.split.head_last ? c.split.heads : 0, 1) : kPass; }},
    {{"layout_string_layers", "pipeline", "the layout string has a t for every decoder layer", "t's", "num_hidden_layers",
      RuleSource::megatron_core, kWhere},
     RuleScope::everywhere,
     {},
     Reads{On::pp, On::vpp, On::split},
     [](const Case& c) { return sound(c) ? equals(c.split.layers, c.job.layers) : kPass; }},
    {{"layout_string_mtp", "pipeline", "the layout string has an m for every MTP layer", "m's", "mtp_layers",
      RuleSource::megatron_core, kWhere},
     RuleScope::everywhere,
     {},
     Reads{On::pp, On::vpp, On::split},
     [](const Case& c) { return sound(c) ? equals(c.split.mtp, c.job.mtp) : kPass; }},
    {{"layout_string_mtp_together", "pipeline", "all MTP layers are in one part of the layout string", "parts with an m",
      "most", RuleSource::megatron_core, kWhere},
     RuleScope::everywhere,
     {},
     Reads{On::pp, On::vpp, On::split},
     [](const Case& c) { return sound(c) ? at_most(c.split.mtp_chunks, 1) : kPass; }},
    {{"layout_string_mtp_after_layers", "pipeline", "MTP layers come after every decoder layer", "t's after an m", "most",
      RuleSource::megatron_core, kWhere},
     RuleScope::everywhere,
     {},
     Reads{On::pp, On::vpp, On::split},
     [](const Case& c) { return sound(c) ? at_most(!c.split.mtp_after_layers, 0) : kPass; }},
    {{"layout_string_mtp_last_virtual_stage", "pipeline", "MTP layers are on the last virtual stage of their rank",
      "virtual stage", "last virtual stage", RuleSource::megatron_core, kWhere},
     RuleScope::everywhere,
     {},
     Reads{On::pp, On::vpp, On::split},
     [](const Case& c) {
       if (!sound(c) || c.split.mtp == 0 || c.split.chunks % c.layout.pp != 0) return kPass;
       return equals(c.split.mtp_chunk / c.layout.pp, c.split.chunks / c.layout.pp - 1);
     }},
};

}  // namespace

std::span<const Rule> layout_string_rules() { return kRules; }

}  // namespace shardfit::layout
