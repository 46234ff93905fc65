// SPDX-License-Identifier: Apache-2.0
#include "estimate/stage_constants.hpp"

#include <algorithm>

namespace shardfit::estimate {
namespace {

Bytes stream_bytes(const block::Shapes& s) { return Bytes(s.stream_tokens * s.hidden * s.e); }

void set_placeholders(const Problem& problem, Evaluation& e, int stage, memory::SmallTerms& small) {
  if (!memory::keeps_placeholders(problem.job.stack, problem.job.training.precision)) return;
  e.shape_lists.clear();
  bool head = false;
  for_each_part(problem, e.parts, e.plan, stage, [&](const Part& part, int) { e.shape_lists.push_back(&part.shapes); });
  for (int v = 0; v < e.plan.vpp; ++v) head |= e.plan.at(stage, v).head;
  const block::Shapes& s = e.parts.shapes();
  std::optional<std::pair<std::int64_t, std::int64_t>> head_shape;
  if (head && s.train_weights && s.task_type == TaskType::causal_lm) head_shape = {s.vocab / s.tp, s.hidden};
  small.placeholder_weight_gradients = memory::placeholder_bytes(e.shape_lists, head_shape);
}

memory::SmallTerms small_terms(const Problem& problem, Evaluation& e, const Layout& layout, int stage) {
  const Job& job = problem.job;
  const block::Shapes& s = e.parts.shapes();
  memory::SmallTerms small;
  bool moe = false, head = false;
  for (int v = 0; v < e.plan.vpp; ++v) {
    const Chunk& chunk = e.plan.at(stage, v);
    head |= chunk.head;
    for (int k = 0; k < problem.layers.size(); ++k) {
      const int mlp = problem.layers.kinds[std::size_t(k)].block.mlp;
      moe |= mlp >= 0 && std::holds_alternative<MoeMlpSpec>(job.model.text.mlps[std::size_t(mlp)].kind) &&
             problem.layers.count(k, chunk.first_layer, chunk.num_layers) > 0;
    }
  }
  small.workspaces = memory::workspace_bytes(job.stack, job.hardware.gpu.generation, layout.tp, moe);
  const bool gathers = moe && layout.dispatcher == Dispatcher::allgather && job.stack.framework == Framework::megatron;
  const int group = layout.ep * layout.etp;
  small.gathered_head_input = memory::global_buffer_bytes(head && s.sequence_parallel ? s.tokens : 0,
                                                          gathers && group > 1 ? s.stream_tokens * group : 0, s.hidden, s.e);
  small.kept_p2p = memory::kept_p2p_bytes(layout.pp, layout.vpp, stream_bytes(s));
  if (layout.overlap.expert_alltoall)
    small.kept_plan = memory::kept_plan_bytes(layout.pp, e.plan.layers_on(stage), stream_bytes(s));
  small.resident_microbatches = mib(job.stack.resident_microbatches_mib);
  if (layout.overlap.tp_comm)
    small.tp_overlap_buffers = memory::tp_overlap_workspace_bytes(job.stack, job.hardware.gpu.generation);
  set_placeholders(problem, e, stage, small);
  return small;
}

memory::FsdpInputs fsdp_inputs(const Problem& problem, const Evaluation& e, const Layout& layout, const GridSizes& grid,
                               int stage) {
  memory::FsdpInputs in;
  in.sharding = layout.sharding;
  in.shards = std::max(1, grid.dp * layout.cp / layout.optimizer_instances);
  in.gradient_bytes = bytes_of(problem.job.training.optimizer.grad_buffer_dtype);
  const memory::QuantizedForms forms = memory::quantized_forms(
      problem.job.training.precision, problem.job.training.fp8_param_gather, problem.job.hardware.gpu.generation,
      problem.job.stack.parameter_transpose_cache);
  if (is_quantized(problem.job.training.precision) && !forms.keeps_bf16) in.weight_bytes = forms.bytes;
  in.double_buffer = layout.fsdp_double_buffer;
  in.reshard_after_forward = problem.job.stack.reshard_after_forward;
  // One micro-batch a step leaves nothing to accumulate: its gradients are reduced as they come.
  in.gradient_sync_every_microbatch = problem.job.stack.gradient_sync_every_microbatch || grid.microbatches <= 1;
  // Experts that no other rank shares are gathered from nobody: they are no unsharded copy.
  const bool experts_gathered = !experts_apart(layout) || grid.edp / layout.optimizer_instances > 1;
  const auto size = [&](const memory::ParamCounts& p) {
    return p.dense + p.frozen_dense + (experts_gathered ? p.expert + p.frozen_expert : 0);
  };
  for_each_part(problem, e.parts, e.plan, stage, [&](const Part& part, int copies) {
    const bool unit = &part >= &e.parts.kind(0) && &part < &e.parts.kind(0) + problem.layers.size();
    in.trainable_elements += (part.params.dense + (experts_gathered ? part.params.expert : 0)) * copies;
    if (!unit) {
      in.outside_elements += size(part.params) * copies;
      return;
    }
    in.units += copies;
    in.unit_elements = std::max(in.unit_elements, size(part.params));
    in.all_unit_elements += size(part.params) * copies;
  });
  return in;
}

/// Whole tensors dealt to the ranks, where the stack's layer-wise optimizer does so: what the fullest owns.
void deal_tensors(const Problem& problem, Evaluation& e, const Layout& layout, int stage, memory::StaticInputs& in) {
  if (in.sharding != Sharding::layerwise || !problem.job.stack.layerwise_whole_tensors) return;
  e.tensor_sizes.clear();
  for_each_part(problem, e.parts, e.plan, stage,
                [&](const Part& part, int copies) { memory::append_tensor_sizes(part.ops, copies, e.tensor_sizes); });
  if (!experts_apart(layout))  // one grid, so one list
    for (memory::TensorSize& s : e.tensor_sizes) s.expert = false;
  in.owned_dense = memory::dealt_to_fullest(e.tensor_sizes, false, in.dense_shards);
  in.owned_expert = memory::dealt_to_fullest(e.tensor_sizes, true, in.expert_shards);
}

/// Fills a stage's constants, in place so that its vectors are kept.
void set_stage_constants(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid, int stage,
                         StageConstants& c) {
  const Job& job = problem.job;
  const block::Shapes& s = e.parts.shapes();
  memory::StageInputs& in = c.inputs;
  in = {};
  c.order.clear();
  c.unwinding.assign(std::size_t(problem.layers.size()), 0);
  for (LiveCounts& live : c.live) live.chunks = nullptr;
  for (StageHoldings& holdings : c.holdings) holdings.kept.reset();
  c.first_chunk = 0;
  c.embedding = c.vision = c.head = false;
  for (int v = 0; v < layout.vpp; ++v) {
    const Chunk& chunk = e.plan.at(stage, v);
    if (chunk.embedding) {
      c.embedding = true;
      c.first_chunk = v;
      if (s.train_weights) in.embedding_gradient = Bytes(s.vocab / s.tp * s.hidden * s.e);
    }
    c.vision |= chunk.vision && problem.vision;
    c.head |= chunk.head;
    if (chunk.mtp_layers > 0) in.mtp_depths = chunk.mtp_layers;
    for (int k = 0; k < problem.layers.size(); ++k) {
      const int layers = problem.layers.count(k, chunk.first_layer, chunk.num_layers);
      if (v == unwinding_chunk(layout, stage)) c.unwinding[std::size_t(k)] = layers;
      if (layers > 0 && std::find(c.order.begin(), c.order.end(), k) == c.order.end()) c.order.push_back(k);
    }
  }
  in.stream = stream_bytes(s);
  in.imbalance = problem.expert_load;
  if (c.head) in.pipeline_buffers = memory::pipeline_buffer_bytes(layout.pp, layout.vpp, in.stream);
  if (c.head || c.embedding) in.batch = memory::batch_bytes(s.tokens, s.sequence, layout.pp, job.stack.attention_mask_in_batch);
  if (c.head && job.stack.deferred_embedding_wgrad)
    in.deferred_head = memory::deferred_head_bytes(
        s.tokens, s.hidden, s.vocab / s.tp,
        std::min(grid.microbatches, job.stack.wgrad_deferral_limit.value_or(grid.microbatches)), s.e);
  in.small = small_terms(problem, e, layout, stage);
  memory::StaticInputs state = static_inputs(problem, stage_params(problem, e, stage), layout, grid);
  deal_tensors(problem, e, layout, stage, state);
  in.state = memory::static_state(state);
  in.fsdp = fsdp_inputs(problem, e, layout, grid, stage);
  c.base = memory::StageBase(in.state, in.small, in.fsdp);
  in.base = &c.base;
}

}  // namespace

memory::StaticInputs static_inputs(const Problem& problem, const memory::ParamCounts& params, const Layout& layout,
                                   const GridSizes& grid) {
  const Job& job = problem.job;
  memory::StaticInputs in;
  in.params = params;
  in.sharding = layout.sharding;
  in.dense_shards = std::max(1, grid.dp * layout.cp / layout.optimizer_instances);
  in.expert_shards = experts_apart(layout) ? std::max(1, grid.edp / layout.optimizer_instances) : in.dense_shards;
  in.precision = job.training.precision;
  in.fp8_param_gather = job.training.fp8_param_gather;
  in.generation = job.hardware.gpu.generation;
  in.optimizer = job.training.optimizer;
  in.optimizer_offload = layout.offload.optimizer_fraction;
  in.tp = layout.tp;
  in.framework = job.stack.framework;
  in.transpose_cache = job.stack.parameter_transpose_cache;
  in.shard_aligned_buffers = job.stack.entry_point == EntryPoint::megatron_lm;
  return in;
}

StageConstants& stage_constants(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid, int stage) {
  PlacementConstants::Stage& kept = e.placement().stages[std::size_t(stage)];
  if (!kept.made) set_stage_constants(problem, e, layout, grid, stage, kept.memory), kept.made = true;
  return kept.memory;
}

}  // namespace shardfit::estimate
