// SPDX-License-Identifier: Apache-2.0
#include "estimate/stages.hpp"

#include <algorithm>
#include <cmath>

namespace shardfit::estimate {
namespace {

using memory::LiveLayers;

Bytes stream_bytes(const block::Shapes& s) { return Bytes(s.stream_tokens * s.hidden * s.e); }

/// The moment, of those of highest load, that costs this stage the most.
std::size_t dearest_moment(const Problem& problem, const Evaluation& e, const StageConstants& constants,
                           const LiveCounts& live, bool full) {
  const std::size_t moments = live.chunks->size(), kinds = std::size_t(problem.layers.size());
  if (moments == 1) return 0;
  std::size_t best = 0;
  std::int64_t most = -1;
  for (std::size_t m = 0; m < moments; ++m) {
    // The loss is computed while its own chunk is alive: on the head's stage only such moments carry logits.
    if (constants.head && (*live.chunks)[m].back() < 1) continue;
    std::int64_t bytes = 0;
    for (const int k : constants.order) {
      const PartCosts& costs = *e.parts.kind(k).costs;
      bytes += live.layers[m * kinds + std::size_t(k)] * (full ? costs.checkpointed : costs.plain).saved_total().value;
    }
    if (bytes > most) most = bytes, best = m;
  }
  return best;
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
      add(parts.kind(k).costs->checkpointed, checkpoints, live, unwinding);
      add(parts.kind(k).costs->plain, all - rerun, live, unwinding);
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
  if (layout.overlap.expert_alltoall)
    small.kept_plan = memory::kept_plan_bytes(layout.pp, e.plan.layers_on(stage), stream_bytes(s));
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

/// The chunk whose micro-batch unwinds: the last at the loss, the first where backward reaches the embedding.
int unwinding_chunk(const Layout& layout, int stage) { return stage == 0 ? 0 : layout.vpp - 1; }

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
  if (c.head || c.embedding)
    in.batch = memory::batch_bytes(s.tokens, s.sequence, layout.pp, job.stack.attention_mask_in_batch);
  if (c.head && job.stack.deferred_embedding_wgrad)
    in.deferred_head = memory::deferred_head_bytes(
        s.tokens, s.hidden, s.vocab / s.tp,
        std::min(grid.microbatches, job.stack.wgrad_deferral_limit.value_or(grid.microbatches)), s.e);
  in.small = small_terms(problem, e, layout, stage);
  memory::ParamCounts params = stage_params(problem, e.parts, e.plan, stage);
  leave_out_bf16_layers(problem, e, stage, params);
  in.state = memory::static_state(static_inputs(problem, params, layout, grid));
  in.fsdp = fsdp_inputs(problem, e, layout, grid, stage);
  c.base = memory::StageBase(in.state, in.small, in.fsdp);
  in.base = &c.base;
}

/// Live micro-batches of the stage: looked up once a placement, with and without expert overlap.
const LiveCounts& live_counts(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid,
                              int stage, LiveCounts& live) {
  if (live.chunks) return live;
  live.chunks = &e.live.at(pipeline_shape(layout, grid), stage);
  live.layers.clear();
  for (const std::vector<int>& moment : *live.chunks)
    for (int k = 0; k < problem.layers.size(); ++k) {
      std::int64_t layers = 0;
      for (int v = 0; v < layout.vpp; ++v) {
        const Chunk& chunk = e.plan.at(stage, v);
        layers += std::int64_t(problem.layers.count(k, chunk.first_layer, chunk.num_layers)) * moment[std::size_t(v)];
      }
      live.layers.push_back(layers);
    }
  return live;
}

/// Fills `e.live_layers`: layers by how they are kept.
void set_live_layers(const Problem& problem, Evaluation& e, const Layout& layout, int stage, const StageConstants& c,
                     const LiveCounts& live, std::size_t moment) {
  e.live_layers.clear();
  const bool full = layout.recompute.granularity == RecomputeGranularity::full;
  if (!full && layout.offload.activation_layers == 0) {
    const std::size_t first = moment * std::size_t(problem.layers.size());
    for (const int k : c.order)
      e.live_layers.push_back({.profile = &e.parts.kind(k).costs->plain, .live = live.layers[first + std::size_t(k)],
                               .unwinding = c.unwinding[std::size_t(k)]});
    return;
  }
  LayerAdder adder{problem, e.parts, layout, e.live_layers, layout.offload.activation_layers};
  for (int v = 0; v < layout.vpp; ++v)
    adder.add_chunk(e.plan.at(stage, v), (*live.chunks)[moment][std::size_t(v)], v == unwinding_chunk(layout, stage));
}

}  // namespace

bool PlacementConstants::is_of(const Layout& l, int builds) const {
  return builds == builds_ && l.pp == layout_.pp && l.vpp == layout_.vpp && l.sharding == layout_.sharding &&
         l.optimizer_instances == layout_.optimizer_instances &&
         l.offload.optimizer_fraction == layout_.offload.optimizer_fraction &&
         l.fsdp_double_buffer == layout_.fsdp_double_buffer && l.overlap.tp_comm == layout_.overlap.tp_comm &&
         (l.pp > 1 || l.overlap.expert_alltoall == layout_.overlap.expert_alltoall) &&   // kept_plan_bytes
         l.microbatch_group_size == layout_.microbatch_group_size &&
         l.use_tp_pp_dp_mapping == layout_.use_tp_pp_dp_mapping && l.split == layout_.split;
}

bool PlacementConstants::begin(const Layout& layout, int builds) {
  if (is_of(layout, builds)) return false;
  layout_ = layout;
  builds_ = builds;
  if (stages.size() < std::size_t(layout.pp)) stages.resize(std::size_t(layout.pp));
  clear();
  return true;
}

void PlacementConstants::clear() {
  for (Stage& stage : stages) stage.made = stage.step_made = false;
  outside.reset();
  transfer.reset();
  floor.reset();
}

bool Evaluation::prepare_placement(const Problem& problem, const Layout& layout, const GridSizes& grid) {
  parts.prepare_shapes(layout, grid);
  if (!works.prepare(problem, layout, plan)) return false;
  if (!placement().begin(layout, parts.builds())) return true;
  graphs_too_much.clear();
  if (live.shed())
    for (PlacementConstants& p : placements) p.clear();
  return true;
}

bool Evaluation::prepare(const Problem& problem, const Layout& layout, const GridSizes& grid) {
  if (!prepare_placement(problem, layout, grid)) return false;
  parts.prepare_costs(layout);
  return true;
}

bool GraphsTooMuch::covers(const Layout& layout, Bytes limit) {
  const CostKey key = cost_key(layout, {});
  if (!key || key != key_ || limit != limit_ || layout.offload.activation_layers != offloaded_layers_) {
    key_ = key;
    limit_ = limit;
    offloaded_layers_ = layout.offload.activation_layers;
    known_.clear();
    return false;
  }
  const CudaGraph& graph = layout.cuda_graph;
  if (graph.impl == CudaGraphImpl::full_iteration) return false;
  for (const Known& known : known_) {
    if (known.expert_overlap != layout.overlap.expert_alltoall) continue;
    if (known.graph.impl == CudaGraphImpl::none) return true;
    // Local graphs without scopes hold whole layers, so their sets do not grow with their names.
    const bool te = graph.impl == CudaGraphImpl::transformer_engine && known.graph.impl == graph.impl;
    if (te && graph.scopes.contains_all(known.graph.scopes)) return true;
  }
  return false;
}

void GraphsTooMuch::add(const Layout& layout) {
  if (layout.cuda_graph.impl != CudaGraphImpl::full_iteration)
    known_.push_back({layout.cuda_graph, layout.overlap.expert_alltoall});
}

bool LiveTables::shed() {
  // A table is a few hundred bytes. (assumed: far more than the stages of one placement, a few MB)
  constexpr std::size_t kMostTables = 1 << 14;
  if (tables_.size() < kMostTables) return false;
  tables_.clear();
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

namespace {

StageConstants& kept_constants(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid, int stage) {
  PlacementConstants::Stage& kept = e.placement().stages[std::size_t(stage)];
  if (!kept.made) set_stage_constants(problem, e, layout, grid, stage, kept.memory), kept.made = true;
  return kept.memory;
}

}  // namespace

const StageConstants& stage_constants(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid,
                                      int stage) {
  return kept_constants(problem, e, layout, grid, stage);
}

const memory::StageInputs& stage_inputs(const Problem& problem, Evaluation& e, const Layout& layout,
                                        const GridSizes& grid, int stage) {
  StageConstants& c = kept_constants(problem, e, layout, grid, stage);
  const bool full = layout.recompute.granularity == RecomputeGranularity::full;
  const bool tower_full = full && layout.recompute.method == RecomputeMethod::uniform;
  const LiveCounts& live =
      live_counts(problem, e, layout, grid, stage, c.live[layout.overlap.expert_alltoall]);
  const std::size_t moment = dearest_moment(problem, e, c, live, full);
  set_live_layers(problem, e, layout, stage, c, live, moment);

  memory::StageInputs& in = c.inputs;
  in.layers = e.live_layers;
  if (c.embedding) {
    in.embedding = &e.parts.embedding().costs->plain;
    in.first_chunk_live = (*live.chunks)[moment][std::size_t(c.first_chunk)];
  }
  if (c.vision) in.vision = tower_full ? &e.parts.vision_costs().checkpointed : &e.parts.vision_costs().plain;
  if (in.mtp_depths > 0) {
    const PartCosts& mtp = *e.parts.mtp(true).costs;
    in.mtp = tower_full ? &mtp.checkpointed : &mtp.plain;
  }
  if (c.head) in.head = &e.parts.head().costs->plain;
  in.rerun_layers = full && layout.recompute.method == RecomputeMethod::uniform ? layout.recompute.num_layers : 1;
  in.graphs = graph_inputs(problem.job, e.parts.shapes(), layout, in);
  return in;
}

namespace {

memory::OutsideInputs make_outside_inputs(const Problem& problem, Evaluation& e, const Layout& layout,
                                          const GridSizes& grid) {
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

}  // namespace

const memory::OutsideInputs& outside_inputs(const Problem& problem, Evaluation& e, const Layout& layout,
                                            const GridSizes& grid) {
  std::optional<memory::OutsideInputs>& kept = e.placement().outside;
  if (!kept) kept = make_outside_inputs(problem, e, layout, grid);
  return *kept;
}

}  // namespace shardfit::estimate
