// SPDX-License-Identifier: Apache-2.0
#include "estimate/outside_inputs.hpp"

#include <algorithm>

namespace shardfit::estimate {
namespace {

memory::OutsideInputs make_outside_inputs(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid) {
  const Job& job = problem.job;
  const block::Shapes& s = e.parts.shapes();
  memory::OutsideInputs out;
  out.context = gib(job.hardware.context_gib.value);
  out.per_communicator = gib(job.hardware.nccl_gib_per_communicator.value);
  out.per_nvls = gib(job.hardware.nvls_gib.value);
  const bool apart = experts_apart(layout);
  for (const int size :
       {layout.tp, layout.cp, grid.dp * layout.cp, layout.pp, apart ? layout.ep * layout.etp : 1, apart ? grid.edp : 1})
    out.communicators += size > 1;
  // The default group of all ranks starts with a barrier; Megatron's distributed optimizer sums gradient norms over a
  // group of its own of all ranks, plain optimizers over the model-parallel one. Source: Megatron-LM
  // training/initialize.py, core/optimizer/__init__.py (grad_stats_parallel_group).
  const bool megatron = job.stack.framework == Framework::megatron;
  out.communicators += job.gpus > 1;
  if (megatron) out.communicators += layout.sharding == Sharding::none ? layout.tp * layout.pp > 1 : job.gpus > 1;
  // NCCL sets NVLS up for a communicator inside one NVLink domain with at least four members that all-reduces or
  // gathers; data-parallel gradients are the ones that do so on every layout. Megatron-Bridge's recipes switch it
  // off (NCCL_NVLS_ENABLE=0) but where they register user buffers.
  const bool nvls = job.stack.nccl_user_buffers || job.stack.entry_point != EntryPoint::megatron_bridge;
  const topology::GroupLinks& dp = e.parts.links_of(group_shapes(layout, grid).dp_cp);
  out.nvls_communicators = nvls && dp.size >= 4 && dp.domains == 1;
  const bool experts = problem.has_moe;
  out.fragmentation = {.expandable_segments = job.stack.expandable_segments,
                       .mixed_sizes = layout.pp > 1 || experts,
                       .interleaved = layout.vpp > 1,
                       .variable_sizes = experts && problem.expert_load != 1};
  if (layout.overlap.tp_comm && layout.tp > 1)
    out.user_buffers = memory::user_buffer_bytes(
        {.tokens = s.tokens,
         .hidden = s.hidden,
         .tp = layout.tp,
         .fp8 = is_quantized(s.precision),
         .also_bf16 = job.training.first_last_layers_bf16 || !job.training.quant_recipe.empty()});
  for (const MlpSpec& mlp : job.model.text.mlps) {
    const auto* moe = std::get_if<MoeMlpSpec>(&mlp.kind);
    if (!moe || layout.ep * layout.etp <= 1) continue;
    const topology::GroupLinks& links = e.parts.links()[block::Group::tp_ep];
    const memory::DispatcherInputs in{.dispatcher = layout.dispatcher,
                                      .tokens = s.stream_tokens,
                                      .width = moe->latent_size.value_or(int(s.hidden)),
                                      .ranks = links.size,
                                      .ranks_per_domain = links.members_per_domain,
                                      .local_experts = moe->num_experts / layout.ep,
                                      .sms = layout.dispatcher_sms};
    out.dispatcher = std::max(out.dispatcher, memory::dispatcher_bytes(in));
  }
  return out;
}

}  // namespace

const memory::OutsideInputs& outside_inputs(const Problem& problem, Evaluation& e, const Layout& layout,
                                            const GridSizes& grid) {
  std::optional<memory::OutsideInputs>& kept = e.placement().outside;
  if (!kept) kept = make_outside_inputs(problem, e, layout, grid);
  return *kept;
}

}  // namespace shardfit::estimate
