// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "estimate/graphs_too_much.hpp"
#include "estimate/live_tables.hpp"
#include "estimate/pace.hpp"
#include "estimate/placement_constants.hpp"
#include "estimate/stage_work.hpp"
#include "schedule/step_time.hpp"
#include "shardfit/layout/stage_plan.hpp"

namespace shardfit::estimate {

/// Reused buffers of one thread and the layout they hold.
struct Evaluation {
  explicit Evaluation(const Problem& problem) : parts(problem) {}
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

  /// Makes tables and plan those of a layout; false for one that the rules would have refused.
  bool prepare(const Problem& problem, const Layout& layout, const GridSizes& grid);
  /// The same without the costs of its parts (Parts::prepare_costs).
  bool prepare_placement(const Problem& problem, const Layout& layout, const GridSizes& grid);
  const StageWork& work(int stage) const { return works.at(stage); }
  PlacementConstants& placement() { return placements[parts.whole_graph()]; }
  PaceTable& paces() { return pace_tables[parts.whole_graph()]; }

  Parts parts;
  LiveTables live;
  StagePlan plan;
  StageWorks works;
  std::vector<memory::LiveLayers> live_layers;
  std::vector<const memory::WeightShapes*> shape_lists;
  memory::TensorSizes tensor_sizes;
  schedule::StepTimer timer;
  GraphsTooMuch graphs_too_much;
  Shortcuts shortcuts;
  int fullest_stage = 0;  ///< of the last layout that was too much: a good one to begin with
  // Of eager operations, of those under a graph of the whole iteration: a search turns it on and off.
  PlacementConstants placements[2];
  PaceTable pace_tables[2];
};

/// Whether experts live in a data-parallel grid of their own (else in the dense one).
/// Source: Megatron-LM core/transformer/moe/experts.py (allreduce flag of expert parameters).
constexpr bool experts_apart(const Layout& layout) { return layout.ep > 1 || layout.etp != layout.tp; }

/// Everything on a stage that has weights, in the order of its chunks: calls f(part, copies).
template <class F>
void for_each_part(const Problem& problem, const Parts& parts, const StagePlan& plan, int stage, F f) {
  for (int v = 0; v < plan.vpp; ++v) {
    const Chunk& chunk = plan.at(stage, v);
    const bool embeds = chunk.embedding || chunk.mtp_layers > 0;
    if (embeds) f(parts.embedding(), 1);
    if (chunk.vision && problem.vision) {
      f(parts.vision_ends(), 1);
      f(parts.vision_layers(), 1);
      f(parts.vision_projector(), 1);
    }
    for (int k = 0; k < problem.layers.size(); ++k)
      if (const int n = problem.layers.count(k, chunk.first_layer, chunk.num_layers)) f(parts.kind(k), n);
    if (chunk.mtp_layers > 0) f(parts.mtp(true), 1);
    if (chunk.mtp_layers > 1) f(parts.mtp(false), chunk.mtp_layers - 1);
    if (chunk.head) {
      const bool reuses = problem.job.model.text.tie_word_embeddings && embeds;
      f(reuses ? parts.tied_head() : parts.head(), 1);
    }
  }
}

/// Parameters of a stage's rank. MTP brings an embedding of its own; a tied head reuses one on the same stage.
const memory::ParamCounts& stage_params(const Problem& problem, Evaluation& evaluation, int stage);

}  // namespace shardfit::estimate
