// SPDX-License-Identifier: Apache-2.0
#include "estimate/stage_inputs.hpp"

#include <algorithm>

#include "estimate/stage_constants.hpp"

namespace shardfit::estimate {
namespace {

using memory::LiveLayers;

/// The moment, of those of highest load, that costs this stage the most.
std::size_t dearest_moment(const Problem& problem, const Evaluation& e, const StageConstants& constants, const LiveCounts& live,
                           bool full) {
  const std::size_t moments = live.chunks->size(), kinds = std::size_t(problem.layers.size());
  if (moments == 1) return 0;
  std::size_t best = 0;
  std::int64_t most = -1;
  for (std::size_t m = 0; m < moments; ++m) {
    // The loss is computed while its own chunk is alive: on the head's stage only such moments carry logits.
    if (constants.head && (*live.chunks)[m].back() < 1) continue;
    std::int64_t bytes = 0;
    for (const int k : constants.order) {
      const KeptCosts& costs = *e.parts.kind(k).kept;
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
  int offloaded_layers;  ///< layer-level offload still to hand out

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
    const int all_checkpoints = memory::checkpointed_layers(layout.recompute, chunk.num_layers).checkpoints;
    const int reached = layout.recompute.method == RecomputeMethod::block ? all_checkpoints : chunk.num_layers;
    int checkpoints_left = all_checkpoints;
    for (int k = 0; k < problem.layers.size(); ++k) {
      const int all = problem.layers.count(k, chunk.first_layer, chunk.num_layers);
      const int rerun = all_checkpoints ? problem.layers.count(k, chunk.first_layer, reached) : 0;
      // Uniform groups of several layers keep one checkpoint a group: hand them out until they are used up.
      const int checkpoints = std::min(rerun, checkpoints_left);
      checkpoints_left -= checkpoints;
      add(parts.kind(k).kept->checkpointed, checkpoints, live, unwinding);
      add(parts.kind(k).kept->plain, all - rerun, live, unwinding);
    }
  }
};

memory::GraphInputs graph_inputs(const Job& job, const block::Shapes& s, const Layout& layout,
                                 const memory::StageInputs& stage) {
  memory::GraphInputs in;
  in.impl = layout.cuda_graph.impl;
  // Megatron-Bridge's recipes with full-iteration graphs set graph_capture_record_stream_reuse, in the one variable that
  // also sets expandable segments (PYTORCH_CUDA_ALLOC_CONF): a run without these has neither.
  in.stream_reuse = job.stack.entry_point == EntryPoint::megatron_bridge && job.stack.expandable_segments;
  in.stream = stage.stream;
  const bool captures_attention = in.impl == CudaGraphImpl::local || layout.cuda_graph.scopes.contains(GraphScope::attn);
  if (captures_attention && job.stack.attention_mask_in_batch) in.attention_mask = Bytes(s.tokens * s.sequence);
  for (const LiveLayers& l : stage.layers) {
    const Bytes held = l.profile->scoped.held_by(layout.cuda_graph);
    if (held == Bytes(0)) continue;
    in.graphed_saved += held * l.live;
    in.static_inputs += l.live;
    in.graphed_transient = std::max({in.graphed_transient, l.profile->forward_transient, l.profile->backward_transient});
  }
  return in;
}

/// Fills `e.live_layers`: layers by how they are kept.
void set_live_layers(const Problem& problem, Evaluation& e, const Layout& layout, int stage, const StageConstants& c,
                     const LiveCounts& live, std::size_t moment) {
  e.live_layers.clear();
  const bool full = layout.recompute.granularity == RecomputeGranularity::full;
  if (!full && layout.offload.activation_layers == 0) {
    const std::size_t first = moment * std::size_t(problem.layers.size());
    for (const int k : c.order)
      e.live_layers.push_back({.profile = &e.parts.kind(k).kept->plain,
                               .live = live.layers[first + std::size_t(k)],
                               .unwinding = c.unwinding[std::size_t(k)]});
    return;
  }
  LayerAdder adder{problem, e.parts, layout, e.live_layers, layout.offload.activation_layers};
  for (int v = 0; v < layout.vpp; ++v)
    adder.add_chunk(e.plan.at(stage, v), (*live.chunks)[moment][std::size_t(v)], v == unwinding_chunk(layout, stage));
}

}  // namespace

LiveCounts& live_counts(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid, int stage) {
  LiveCounts& live = stage_constants(problem, e, layout, grid, stage).live[layout.overlap.expert_alltoall];
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

const memory::StageInputs& stage_inputs(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid,
                                        int stage) {
  StageConstants& c = stage_constants(problem, e, layout, grid, stage);
  const bool full = layout.recompute.granularity == RecomputeGranularity::full;
  const bool uniform = full && layout.recompute.method == RecomputeMethod::uniform;
  LiveCounts& live = live_counts(problem, e, layout, grid, stage);
  live.dearest = dearest_moment(problem, e, c, live, full);
  set_live_layers(problem, e, layout, stage, c, live, live.dearest);

  memory::StageInputs& in = c.inputs;
  in.layers = e.live_layers;
  if (c.embedding) {
    in.embedding = &e.parts.embedding().kept->plain;
    in.first_chunk_live = (*live.chunks)[live.dearest][std::size_t(c.first_chunk)];
  }
  if (c.vision) in.vision = &e.parts.vision().kept->plain;
  if (in.mtp_depths > 0) {
    const KeptCosts& mtp = *e.parts.mtp(true).kept;
    in.mtp = uniform ? &mtp.checkpointed : &mtp.plain;
  }
  if (c.head) in.head = &e.parts.head().kept->plain;
  in.rerun_layers = uniform ? layout.recompute.num_layers : 1;
  in.graphs = graph_inputs(problem.job, e.parts.shapes(), layout, in);
  return in;
}

const StageHoldings& stage_holdings(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid,
                                    int stage) {
  StageConstants& c = stage_constants(problem, e, layout, grid, stage);
  StageHoldings& h = c.holdings[layout.overlap.expert_alltoall];
  if (h.kept && h.kept == e.parts.kept()) {
    if (layout.cuda_graph.impl == CudaGraphImpl::none) {
      c.inputs.graphs = {};
      return h;
    }
    set_live_layers(problem, e, layout, stage, c, c.live[layout.overlap.expert_alltoall], h.moment);
    c.inputs.layers = e.live_layers;
    c.inputs.graphs = graph_inputs(problem.job, e.parts.shapes(), layout, c.inputs);
    return h;
  }
  const memory::StageInputs& in = stage_inputs(problem, e, layout, grid, stage);
  h.moment = c.live[layout.overlap.expert_alltoall].dearest;
  h.events.emplace(in);
  h.allocated = memory::allocated_without_graphs(in, *h.events);
  h.most = MemoryMoment(std::max_element(h.allocated.begin(), h.allocated.end()) - h.allocated.begin());
  h.kept = e.parts.kept();
  return h;
}

}  // namespace shardfit::estimate
