// SPDX-License-Identifier: Apache-2.0
// Pipeline: how layers fall on stages without a layout text, and virtual stages.
#include <algorithm>

#include "layout/rules/rule.hpp"

namespace shardfit::layout {
namespace {

int group_size(const Case& c) { return c.layout.microbatch_group_size > 0 ? c.layout.microbatch_group_size : c.layout.pp; }

int accounted_layers(const Case& c) {
  return c.job.layers + c.layout.split.account_for_embedding + c.layout.split.account_for_loss;
}

Finding middle_layers(const Case& c) {
  if (c.layout.split.kind != SplitKind::first_last) return kPass;
  const MiddleStages middle = middle_stages(c.job.layers, c.layout);
  const bool sound = middle.ranks > 0 ? middle.layers > 0 && middle.layers % middle.ranks == 0
                                      : middle.ranks == 0 && middle.layers == 0;
  return {!sound, middle.ranks, middle.layers};
}

/// The first of the three counts of a first/last split that vpp does not divide.
Finding first_last_vpp(const Case& c) {
  if (c.layout.split.kind != SplitKind::first_last || c.layout.vpp == 1) return kPass;
  const MiddleStages middle = middle_stages(c.job.layers, c.layout);
  const int each = middle.ranks > 0 ? middle.layers / middle.ranks : 0;
  for (int count : {c.layout.split.first_stage_layers, c.layout.split.last_stage_layers, each})
    if (count % c.layout.vpp != 0) return {true, c.layout.vpp, count};
  return kPass;
}

constexpr Rule kRules[] = {
    {{"vpp_needs_pp", "pipeline", "virtual stages need pp of at least 2", "pp", "least pp", RuleSource::megatron_core,
      "Megatron-LM core/parallel_state.py:initialize_model_parallel; training/arguments.py:validate_args"},
     RuleScope::everywhere,
     {Axis::pp, Axis::vpp},
     Reads{On::pp, On::vpp},
     [](const Case& c) { return c.layout.vpp > 1 ? at_least(c.layout.pp, 2) : kPass; }},
    {{"pp_divides_layers", "pipeline", "pp divides the layers of an even split", "pp", "num_hidden_layers",
      RuleSource::megatron_core,
      "Megatron-LM core/transformer/transformer_block.py:get_num_layers_to_build; training/arguments.py"},
     RuleScope::megatron,
     {Axis::pp},
     Reads{On::pp, On::split},
     [](const Case& c) { return c.layout.split.kind == SplitKind::uniform ? divides(c.layout.pp, c.job.layers) : kPass; }},
    {{"vpp_divides_stage", "pipeline", "vpp divides the layers of a stage of an even split", "vpp", "layers of a stage",
      RuleSource::megatron_core,
      "Megatron-LM core/transformer/transformer_block.py; Megatron-Bridge models/gpt_provider.py:provide"},
     RuleScope::megatron,
     {Axis::vpp, Axis::pp},
     Reads{On::pp, On::vpp, On::split},
     [](const Case& c) {
       return c.layout.split.kind == SplitKind::uniform ? divides(c.layout.vpp, c.job.layers / c.layout.pp) : kPass;
     }},
    {{"chunks_within_layers", "pipeline", "an even split has a layer for every pipeline chunk", "pp * vpp", "num_hidden_layers",
      RuleSource::shardfit, "a chunk without a layer would do nothing"},
     RuleScope::everywhere,
     {Axis::pp, Axis::vpp},
     Reads{On::pp, On::vpp, On::split},
     [](const Case& c) {
       return c.layout.split.kind == SplitKind::uniform ? at_most(c.layout.pp * c.layout.vpp, c.job.layers) : kPass;
     }},
    {{"middle_stages_divide_layers", "pipeline", "what first and last stage leave is shared evenly by the stages between them",
      "middle stages", "middle layers", RuleSource::megatron_core,
      "Megatron-LM core/transformer/transformer_config.py:__post_init__"},
     RuleScope::everywhere,
     {Axis::pp},
     Reads{On::pp, On::split},
     middle_layers},
    {{"vpp_divides_uneven_stages", "pipeline", "vpp divides the layers of the first, the last and the middle stages", "vpp",
      "layers of the stage", RuleSource::megatron_core, "Megatron-LM core/transformer/transformer_config.py:__post_init__"},
     RuleScope::everywhere,
     {Axis::vpp},
     Reads{On::pp, On::vpp, On::split},
     first_last_vpp},
    {{"pp_divides_accounted_layers", "pipeline", "pp divides layers plus the accounted embedding and loss", "pp",
      "layers with embedding and loss", RuleSource::megatron_core,
      "Megatron-LM core/transformer/transformer_config.py:__post_init__"},
     RuleScope::everywhere,
     {Axis::pp},
     Reads{On::pp, On::split},
     [](const Case& c) {
       return c.layout.split.kind == SplitKind::accounting ? divides(c.layout.pp, accounted_layers(c)) : kPass;
     }},
    {{"vpp_divides_accounted_stage", "pipeline", "vpp divides the layers of a stage, embedding and loss accounted", "vpp",
      "layers of a stage", RuleSource::megatron_core, "Megatron-LM core/transformer/transformer_config.py:__post_init__"},
     RuleScope::everywhere,
     {Axis::vpp, Axis::pp},
     Reads{On::pp, On::vpp, On::split},
     [](const Case& c) {
       return c.layout.split.kind == SplitKind::accounting ? divides(c.layout.vpp, accounted_layers(c) / c.layout.pp) : kPass;
     }},
    {{"group_reaches_pp", "pipeline", "the micro-batches of a virtual-stage group are at least pp", "group size", "pp",
      RuleSource::megatron_core,
      "Megatron-LM core/pipeline_parallel/schedules.py:forward_backward_pipelining_with_interleaving"},
     RuleScope::everywhere,
     {Axis::microbatch_group_size},
     Reads{On::pp, On::vpp},
     [](const Case& c) { return c.layout.vpp > 1 ? at_least(group_size(c), c.layout.pp) : kPass; }},
    {{"group_within_microbatches", "pipeline", "the micro-batches of a virtual-stage group are no more than those of a step",
      "group size", "micro-batches", RuleSource::megatron_core,
      "Megatron-LM core/pipeline_parallel/schedules.py:forward_backward_pipelining_with_interleaving"},
     RuleScope::everywhere,
     {Axis::microbatch_group_size, Axis::micro_batch_size, Axis::pp},
     Reads{On::tp, On::cp, On::ep, On::etp, On::micro_batch_size, On::pp, On::vpp},
     [](const Case& c) { return c.layout.vpp > 1 && c.grid_sound ? at_most(group_size(c), c.grid.microbatches) : kPass; }},
    {{"last_group_reaches_pp", "pipeline", "micro-batches left over by whole virtual-stage groups are none, or at least pp",
      "left-over micro-batches", "pp", RuleSource::megatron_core,
      "Megatron-LM core/pipeline_parallel/schedules.py:forward_backward_pipelining_with_interleaving"},
     RuleScope::everywhere,
     {Axis::microbatch_group_size, Axis::micro_batch_size, Axis::pp},
     Reads{On::tp, On::cp, On::ep, On::etp, On::micro_batch_size, On::pp, On::vpp},
     [](const Case& c) {
       if (c.layout.vpp == 1 || !c.grid_sound) return kPass;
       const int left = c.grid.microbatches % std::max(1, group_size(c));
       return left > 0 ? at_least(left, c.layout.pp) : kPass;
     }},
    {{"deferred_embedding_wgrad_pp", "pipeline", "deferring the embedding's weight gradient needs pp of at least 2", "pp",
      "least pp", RuleSource::megatron_core, "Megatron-LM core/model_parallel_config.py:__post_init__"},
     RuleScope::megatron,
     {Axis::pp},
     Reads{On::pp},
     [](const Case& c) { return c.stack().deferred_embedding_wgrad ? at_least(c.layout.pp, 2) : kPass; }},
    {{"deferred_embedding_wgrad_fusion", "pipeline", "deferring the embedding's weight gradient needs grad_accumulation_fusion",
      "grad_accumulation_fusion", "needed", RuleSource::megatron_core,
      "Megatron-LM core/model_parallel_config.py:__post_init__"},
     RuleScope::megatron,
     {},
     kJobAlone,
     [](const Case& c) { return c.stack().deferred_embedding_wgrad ? equals(c.stack().grad_accumulation_fusion, 1) : kPass; }},
};

}  // namespace

std::span<const Rule> pipeline_rules() { return kRules; }

}  // namespace shardfit::layout
