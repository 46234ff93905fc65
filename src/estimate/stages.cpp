// SPDX-License-Identifier: Apache-2.0
#include "estimate/stages.hpp"

#include <algorithm>
#include <cmath>

namespace shardfit::estimate {
namespace {

using memory::LiveLayers;

Bytes stream_bytes(const block::Shapes& s) { return Bytes(s.stream_tokens * s.hidden * s.e); }

/// The micro-batches alive in each chunk at the moment that costs this stage the most.
const std::vector<int>& dearest_live(const Problem& problem, Evaluation& e, const schedule::PipelineShape& shape,
                                     const Layout& layout, int stage) {
  const auto& candidates = e.live.at(shape, stage);
  if (candidates.size() == 1) return candidates.front();
  const auto chunk_bytes = [&](int v) {
    const Chunk& chunk = e.plan.at(stage, v);
    std::int64_t bytes = 0;
    for (int k = 0; k < problem.layers.size(); ++k) {
      const auto& part = e.parts.kind(k);
      const bool full = layout.recompute.granularity == RecomputeGranularity::full;
      bytes += problem.layers.count(k, chunk.first_layer, chunk.num_layers) *
               (full ? part.checkpointed : part.plain).saved_total().value;
    }
    return bytes;
  };
  std::size_t best = 0;
  double most = -1;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    // The loss is computed while its own chunk is alive: on the head's stage only such moments carry logits.
    if (e.plan.at(stage, shape.vpp - 1).head && candidates[i].back() < 1) continue;
    double bytes = 0;
    for (int v = 0; v < shape.vpp; ++v) bytes += double(candidates[i][std::size_t(v)]) * double(chunk_bytes(v));
    if (bytes > most) most = bytes, best = i;
  }
  return candidates[best];
}

/// Adds a kind's layers of one chunk: kept whole, or checkpointed.
struct LayerAdder {
  const Problem& problem;
  const Parts& parts;
  const Layout& layout;
  std::vector<LiveLayers>& out;
  int offloaded_layers;   ///< layer-level offload still to hand out

  void add(const memory::ActivationProfile& profile, int layers, int live, bool unwinding) {
    if (layers == 0) return;
    const int on_host = std::min(layers, offloaded_layers);
    offloaded_layers -= on_host;
    const auto found = std::find_if(out.begin(), out.end(), [&](const LiveLayers& l) { return l.profile == &profile; });
    LiveLayers& entry = found != out.end() ? *found : out.emplace_back(LiveLayers{.profile = &profile});
    entry.live += std::int64_t(layers) * live;
    entry.on_host += std::int64_t(on_host) * live;
    if (unwinding) entry.unwinding += layers;
  }

  void add_chunk(const Chunk& chunk, int live, bool unwinding) {
    const memory::CheckpointedLayers split = memory::checkpointed_layers(layout.recompute, chunk.num_layers);
    const int reached = layout.recompute.method == RecomputeMethod::block ? split.checkpoints : chunk.num_layers;
    int checkpoints_left = split.checkpoints;
    for (int k = 0; k < problem.layers.size(); ++k) {
      const int all = problem.layers.count(k, chunk.first_layer, chunk.num_layers);
      const int rerun = split.checkpoints ? problem.layers.count(k, chunk.first_layer, reached) : 0;
      // Uniform groups of several layers keep one checkpoint a group: hand them out until they are used up.
      const int checkpoints = std::min(rerun, checkpoints_left);
      checkpoints_left -= checkpoints;
      add(parts.kind(k).checkpointed, checkpoints, live, unwinding);
      add(parts.kind(k).plain, all - rerun, live, unwinding);
    }
  }
};

bool has_experts(const ModelSpec& model) {
  return std::any_of(model.text.mlps.begin(), model.text.mlps.end(),
                     [](const MlpSpec& m) { return std::holds_alternative<MoeMlpSpec>(m.kind); });
}

void set_placeholders(const Problem& problem, Evaluation& e, int stage, memory::SmallTerms& small) {
  if (!memory::keeps_placeholders(problem.job.stack, problem.job.training.precision)) return;
  e.shape_lists.clear();
  bool head = false;
  for_each_part(problem, e.parts, e.plan, stage, [&](const Part& part, int) { e.shape_lists.push_back(&part.shapes); });
  for (int v = 0; v < e.plan.vpp; ++v) head |= e.plan.at(stage, v).head;
  const block::Shapes& s = e.parts.shapes();
  std::optional<std::pair<std::int64_t, std::int64_t>> head_shape;
  if (head && s.train_weights) head_shape = {s.vocab / s.tp, s.hidden};
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
      const int mlp = problem.layers.kinds[std::size_t(k)].mlp;
      moe |= mlp >= 0 && std::holds_alternative<MoeMlpSpec>(job.model.text.mlps[std::size_t(mlp)].kind) &&
             problem.layers.count(k, chunk.first_layer, chunk.num_layers) > 0;
    }
  }
  small.workspaces =
      memory::workspace_bytes(job.stack, job.hardware.gpu.generation, layout.tp, moe && job.stack.grouped_gemm);
  if (head && s.sequence_parallel) small.gathered_head_input = memory::gathered_head_input_bytes(s.tokens, s.hidden, s.e);
  small.kept_p2p = memory::kept_p2p_bytes(layout.pp, layout.vpp, stream_bytes(s));
  small.resident_microbatches = mib(job.stack.resident_microbatches_mib);
  if (layout.overlap.tp_comm)
    small.tp_overlap_buffers = memory::tp_overlap_workspace_bytes(job.stack, job.hardware.gpu.generation);
  set_placeholders(problem, e, stage, small);
  return small;
}

/// Where the stack keeps the first and the last decoder layer in bf16, they have no quantised copies.
void leave_out_bf16_layers(const Problem& problem, const Evaluation& e, int stage, memory::ParamCounts& params) {
  if (!problem.job.training.first_last_layers_bf16) return;
  const int last = int(problem.job.model.text.layers.size()) - 1;
  for (int layer : {0, last}) {
    for (int v = 0; v < e.plan.vpp; ++v) {
      const Chunk& c = e.plan.at(stage, v);
      if (layer < c.first_layer || layer >= c.first_layer + c.num_layers) continue;
      const memory::ParamCounts& of = e.parts.kind(problem.layers.kind_of_layer[std::size_t(layer)]).params;
      params.linear_dense -= of.linear_dense;
      params.linear_expert -= of.linear_expert;
      params.linear_trainable_dense -= of.linear_trainable_dense;
      params.linear_trainable_expert -= of.linear_trainable_expert;
    }
  }
}

memory::StaticInputs static_inputs(const Problem& problem, const Evaluation& e, const Layout& layout,
                                   const GridSizes& grid, int stage) {
  const Job& job = problem.job;
  memory::StaticInputs in;
  in.params = stage_params(problem, e.parts, e.plan, stage);
  leave_out_bf16_layers(problem, e, stage, in.params);
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
  in.shard_aligned_buffers = job.stack.entry_point == EntryPoint::megatron_lm;
  return in;
}

memory::FsdpInputs fsdp_inputs(const Problem& problem, const Evaluation& e, const Layout& layout, const GridSizes& grid,
                               int stage) {
  memory::FsdpInputs in;
  in.sharding = layout.sharding;
  in.shards = std::max(1, grid.dp * layout.cp / layout.optimizer_instances);
  in.gradient_bytes = bytes_of(problem.job.training.optimizer.grad_buffer_dtype);
  const memory::QuantizedForms forms = memory::quantized_forms(
      problem.job.training.precision, problem.job.training.fp8_param_gather, problem.job.hardware.gpu.generation);
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

memory::GraphInputs graph_inputs(const Job& job, const block::Shapes& s, const Layout& layout,
                                 const memory::StageInputs& stage) {
  memory::GraphInputs in;
  in.impl = layout.cuda_graph.impl;
  // Megatron-Bridge's recipes with full-iteration graphs set graph_capture_record_stream_reuse.
  in.stream_reuse = job.stack.entry_point == EntryPoint::megatron_bridge;
  in.stream = stage.stream;
  const bool captures_attention =
      in.impl == CudaGraphImpl::local || layout.cuda_graph.scopes.contains(GraphScope::attn);
  if (captures_attention && job.stack.attention_mask_in_batch) in.attention_mask = Bytes(s.tokens * s.sequence);
  for (const LiveLayers& l : stage.layers) {
    in.graphed_saved += l.profile->graphed * l.live;
    if (l.profile->graphed.value == 0) continue;
    in.static_inputs += l.live;
    in.graphed_transient = std::max({in.graphed_transient, l.profile->forward_transient, l.profile->backward_transient});
  }
  return in;
}

const StageConstants& stage_constants(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid,
                                      int stage) {
  StageConstantsCache::Slot& slot = e.constants[e.parts.whole_graph()].slot(layout, e.parts.builds(), stage);
  if (slot.made) return slot.constants;
  slot.constants.small = small_terms(problem, e, layout, stage);
  slot.constants.state = memory::static_state(static_inputs(problem, e, layout, grid, stage));
  slot.constants.fsdp = fsdp_inputs(problem, e, layout, grid, stage);
  slot.made = true;
  return slot.constants;
}

}  // namespace

bool StageConstantsCache::is_of(const Layout& l, int builds) const {
  return builds == builds_ && l.pp == layout_.pp && l.vpp == layout_.vpp && l.split == layout_.split &&
         l.sharding == layout_.sharding && l.optimizer_instances == layout_.optimizer_instances &&
         l.offload.optimizer_fraction == layout_.offload.optimizer_fraction &&
         l.fsdp_double_buffer == layout_.fsdp_double_buffer && l.overlap.tp_comm == layout_.overlap.tp_comm;
}

StageConstantsCache::Slot& StageConstantsCache::slot(const Layout& layout, int builds, int stage) {
  if (!is_of(layout, builds)) {
    layout_ = layout;
    builds_ = builds;
    if (slots_.size() < std::size_t(layout.pp)) slots_.resize(std::size_t(layout.pp));
    for (Slot& slot : slots_) slot.made = false;
  }
  return slots_[std::size_t(stage)];
}

bool same_work_as_previous(const Problem& problem, const StagePlan& plan, int stage) {
  if (stage < 2 || stage == plan.pp - 1) return false;
  for (int v = 0; v < plan.vpp; ++v) {
    const Chunk &a = plan.at(stage, v), &b = plan.at(stage - 1, v);
    if (a.num_layers != b.num_layers || a.embedding || a.head || a.mtp_layers || a.vision || b.embedding || b.head ||
        b.mtp_layers || b.vision)
      return false;
    for (int k = 0; k < problem.layers.size(); ++k)
      if (problem.layers.count(k, a.first_layer, a.num_layers) != problem.layers.count(k, b.first_layer, b.num_layers))
        return false;
  }
  return true;
}

const std::vector<std::vector<int>>& LiveTables::at(const schedule::PipelineShape& s, int stage) {
  // Beyond two full turns of the warm-up the steady state repeats: more micro-batches change nothing.
  const int enough = (s.pp + 2 * s.group) * 2;
  schedule::PipelineShape shape = s;
  if (shape.microbatches > enough) shape.microbatches = enough + (shape.microbatches - enough) % std::max(1, s.group);
  const Key key{shape.pp, shape.vpp, shape.microbatches, shape.group, shape.expert_overlap, stage};
  const auto found = tables_.find(key);
  if (found != tables_.end()) return found->second;
  return tables_.emplace(key, schedule::live_chunks(shape, stage)).first->second;
}

schedule::PipelineShape pipeline_shape(const Layout& layout, const GridSizes& grid) {
  return {.pp = layout.pp, .vpp = layout.vpp, .microbatches = grid.microbatches,
          .group = layout.microbatch_group_size > 0 ? layout.microbatch_group_size : layout.pp,
          .expert_overlap = layout.overlap.expert_alltoall};
}

memory::ParamCounts stage_params(const Problem& problem, const Parts& parts, const StagePlan& plan, int stage) {
  memory::ParamCounts sum;
  for_each_part(problem, parts, plan, stage, [&](const Part& part, int copies) { sum += part.params * copies; });
  return sum;
}

memory::StageInputs stage_inputs(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid,
                                 int stage) {
  const Job& job = problem.job;
  const block::Shapes& s = e.parts.shapes();
  const bool full = layout.recompute.granularity == RecomputeGranularity::full;
  const bool tower_full = full && layout.recompute.method == RecomputeMethod::uniform;
  const schedule::PipelineShape shape = pipeline_shape(layout, grid);
  const std::vector<int>& live = dearest_live(problem, e, shape, layout, stage);

  e.live_layers.clear();
  LayerAdder adder{problem, e.parts, layout, e.live_layers, layout.offload.activation_layers};
  memory::StageInputs in;
  for (int v = 0; v < layout.vpp; ++v) {
    const Chunk& chunk = e.plan.at(stage, v);
    // The micro-batch that unwinds: the last chunk at the loss, the first where backward reaches the embedding.
    const bool unwinding = v == (stage == 0 ? 0 : layout.vpp - 1);
    adder.add_chunk(chunk, live[std::size_t(v)], unwinding);
    if (chunk.embedding) {
      in.embedding = &e.parts.embedding().plain;
      in.first_chunk_live = live[std::size_t(v)];
      if (s.train_weights) in.embedding_gradient = Bytes(s.vocab / s.tp * s.hidden * s.e);
    }
    if (chunk.vision && problem.vision) in.vision = &e.parts.vision_profile(tower_full);
    if (chunk.mtp_layers > 0) {
      in.mtp = tower_full ? &e.parts.mtp(true).checkpointed : &e.parts.mtp(true).plain;
      in.mtp_depths = chunk.mtp_layers;
    }
    if (chunk.head) in.head = &e.parts.head().plain;
  }
  in.layers = e.live_layers;
  in.stream = stream_bytes(s);
  in.rerun_layers = full && layout.recompute.method == RecomputeMethod::uniform ? layout.recompute.num_layers : 1;
  in.imbalance = problem.expert_load;
  if (in.head) in.pipeline_buffers = memory::pipeline_buffer_bytes(layout.pp, layout.vpp, in.stream);
  if (in.head || in.embedding) in.batch = memory::batch_bytes(s.tokens, s.sequence, layout.pp, job.stack.attention_mask_in_batch);
  if (in.head && job.stack.deferred_embedding_wgrad)
    in.deferred_head = memory::deferred_head_bytes(
        s.tokens, s.hidden, s.vocab / s.tp,
        std::min(grid.microbatches, job.stack.wgrad_deferral_limit.value_or(grid.microbatches)), s.e);
  const StageConstants& constants = stage_constants(problem, e, layout, grid, stage);
  in.small = constants.small;
  in.state = constants.state;
  in.fsdp = constants.fsdp;
  in.graphs = graph_inputs(job, s, layout, in);
  return in;
}

memory::OutsideInputs outside_inputs(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid) {
  const Job& job = problem.job;
  const block::Shapes& s = e.parts.shapes();
  memory::OutsideInputs out;
  out.context = gib(job.hardware.context_gib.value);
  out.per_communicator = gib(job.hardware.nccl_gib_per_communicator.value);
  out.per_nvls = gib(job.hardware.nvls_gib.value);
  const bool apart = experts_apart(layout);
  for (const int size : {layout.tp, layout.cp, grid.dp * layout.cp, layout.pp, apart ? layout.ep * layout.etp : 1,
                         apart ? grid.edp : 1})
    out.communicators += size > 1;
  // NCCL sets NVLS up for a communicator inside one NVLink domain with at least four members that all-reduces or
  // gathers; data-parallel gradients are the ones that do so on every layout. Megatron-Bridge's recipes switch it
  // off (NCCL_NVLS_ENABLE=0) but where they register user buffers.
  const bool nvls = job.stack.nccl_user_buffers || job.stack.entry_point != EntryPoint::megatron_bridge;
  const topology::GroupLinks& dp = e.parts.links_of({grid.dp * layout.cp, layout.tp});
  out.nvls_communicators = nvls && dp.size >= 4 && dp.domains == 1;
  const bool experts = has_experts(job.model);
  out.fragmentation = {.expandable_segments = job.stack.expandable_segments,
                       .mixed_sizes = layout.pp > 1 || experts,
                       .interleaved = layout.vpp > 1,
                       .variable_sizes = experts && problem.expert_load != 1};
  if (layout.overlap.tp_comm && layout.tp > 1)
    out.user_buffers = memory::user_buffer_bytes({.tokens = s.tokens, .hidden = s.hidden, .tp = layout.tp,
                                                  .fp8 = is_quantized(s.precision),
                                                  .also_bf16 = job.training.first_last_layers_bf16});
  for (const MlpSpec& mlp : job.model.text.mlps) {
    const auto* moe = std::get_if<MoeMlpSpec>(&mlp.kind);
    if (!moe || layout.ep * layout.etp <= 1) continue;
    const topology::GroupLinks& links = e.parts.links()[block::Group::tp_ep];
    out.dispatcher = std::max(
        out.dispatcher,
        memory::dispatcher_bytes({.dispatcher = layout.dispatcher, .tokens = s.stream_tokens,
                                  .width = moe->latent_size.value_or(int(s.hidden)), .ranks = links.size,
                                  .ranks_per_domain = links.members_per_domain,
                                  .local_experts = moe->num_experts / layout.ep, .top_k = moe->num_experts_per_tok,
                                  .sms = layout.dispatcher_sms}));
  }
  return out;
}

}  // namespace shardfit::estimate
