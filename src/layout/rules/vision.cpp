// SPDX-License-Identifier: Apache-2.0
// Vision towers: split like the decoder where they are built of its layers, on the first chunk.
#include "layout/rules/rule.hpp"

namespace shardfit::layout {
namespace {

constexpr Rule kRules[] = {
    {{"tp_divides_vision_heads", "vision", "tp divides the heads of the vision tower", "tp", "vision num_heads",
      RuleSource::megatron_core,
      "Megatron-LM core/transformer/transformer_config.py:__post_init__, built by Megatron-Bridge models/qwen_vl"},
     RuleScope::megatron,
     {Axis::tp},
     Reads{On::tp},
     [](const Case& c) { return divides(c.layout.tp, c.job.vision_heads); }},
    {{"tp_divides_vision_ffn", "vision", "tp divides the intermediate size of the vision tower", "tp",
      "vision intermediate_size", RuleSource::megatron_core, "Megatron-LM core/utils.py:divide"},
     RuleScope::megatron,
     {Axis::tp},
     Reads{On::tp},
     [](const Case& c) { return divides(c.layout.tp, c.job.vision_ffn); }},
    {{"no_virtual_stages", "vision", "Bridge builds Qwen3-VL without virtual stages", "vpp", "most",
      RuleSource::megatron_bridge, "Megatron-Bridge models/qwen_vl/qwen3_vl_provider.py:provide (drops vp_stage)"},
     RuleScope::megatron_bridge,
     {Axis::vpp},
     Reads{On::vpp},
     [](const Case& c) { return c.job.no_virtual_stages ? at_most(c.layout.vpp, 1) : kPass; }},
    {{"vision_no_context_parallel", "vision",
      "Bridge runs Gemma-3, Qwen2.5-VL and GLM-4.5V with images without context parallelism", "cp", "most",
      RuleSource::megatron_bridge,
      "Megatron-Bridge models/gemma_vl/gemma3_vl_provider.py:provide; models/{qwen_vl/modeling_qwen25_vl,glm_vl/"
      "modeling_glm_45v}.py:forward (rows are not split)"},
     RuleScope::megatron_bridge,
     {Axis::cp},
     Reads{On::cp},
     [](const Case& c) { return c.job.whole_rows_only ? at_most(c.layout.cp, 1) : kPass; }},
    {{"deepstack_first_stage", "vision", "the first stage has a decoder layer for every deepstack feature",
      "layers of the first chunk", "deepstack features", RuleSource::megatron_bridge,
      "Megatron-Bridge models/qwen_vl/modelling_qwen3_vl/model.py"},
     RuleScope::megatron,
     {Axis::pp},
     Reads{On::pp, On::vpp, On::split},
     [](const Case& c) { return c.job.deepstack > 0 ? at_least(c.split.first_chunk_layers, c.job.deepstack) : kPass; }},
};

}  // namespace

std::span<const Rule> vision_rules() { return kRules; }

}  // namespace shardfit::layout
