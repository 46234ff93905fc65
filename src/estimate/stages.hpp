// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "estimate/parts.hpp"
#include "estimate/stage_work.hpp"
#include "memory/outside.hpp"
#include "memory/stage_memory.hpp"
#include "schedule/live_chunks.hpp"
#include "schedule/step_time.hpp"
#include "shardfit/layout/stage_plan.hpp"

namespace shardfit::estimate {

/// Live-chunk tables by pipeline shape: filled once a shape, shared by every layout that has it.
class LiveTables {
 public:
  const std::vector<std::vector<int>>& at(const schedule::PipelineShape& shape, int stage);
  /// Forgets all tables if there are very many; true if it did.
  bool shed();

 private:
  using Key = std::tuple<int, int, int, int, bool, int>;
  std::map<Key, std::vector<std::vector<int>>> tables_;
};

/// Live micro-batches of a stage at each of its moments of highest load. Recompute and graphs only choose the moment.
struct LiveCounts {
  const std::vector<std::vector<int>>* chunks = nullptr;   ///< [moment][chunk]; none: not made
  std::vector<std::int64_t> layers;        ///< [moment][kind]: layers of a kind times live micro-batches
};

/// What of a stage neither recompute nor graphs change.
struct StageConstants {
  memory::StageInputs inputs;              ///< layers, profiles, graphs and live micro-batches are set for each layout
  memory::StageBase base;
  std::vector<int> order;                  ///< kinds as they come first in the stage's chunks
  std::vector<int> unwinding;              ///< layers of each kind in the chunk that runs backward at the dearest moment
  LiveCounts live[2];                      ///< without and with expert overlap
  int first_chunk = 0;                     ///< the chunk that embeds
  bool embedding = false, vision = false, head = false;
};

/// Of a stage's step: data-parallel traffic and optimizer, s.
struct StepConstants {
  double reductions = 0, gathers = 0, exposed = 0, optimizer = 0;
};

/// The constants of the layout at hand, kept while what they come from stays as it is: the parts' tables, pp, vpp, split,
/// sharding, instances, offload of the optimizer, double buffer, tensor-parallel overlap, rank order.
struct PlacementConstants {
  struct Stage {
    bool made = false, step_made = false;
    StageConstants memory;
    StepConstants step;
  };
  std::vector<Stage> stages;
  std::optional<memory::OutsideInputs> outside;
  std::optional<double> transfer;          ///< boundary_transfer
  std::optional<Bytes> floor;              ///< state_floor

  /// Empties the constants if they are not those of `layout`; true if it did.
  bool begin(const Layout& layout, int builds);
  void clear();

 private:
  bool is_of(const Layout& layout, int builds) const;
  Layout layout_;
  int builds_ = 0;                         ///< 0: of no layout
};

/// Graphs that need more than a limit on the placement and recompute at hand: more graphs need no less, since all that they do to
/// memory is to add static inputs and pools. A graph of the whole iteration is another matter: it changes operations.
class GraphsTooMuch {
 public:
  void clear() { known_.clear(); }
  /// Whether a layout with no more graphs than `layout` was found to need more than `limit`.
  bool covers(const Layout& layout, Bytes limit);
  /// Of the layout and the limit last asked about: it needs more.
  void add(const Layout& layout);

 private:
  struct Known { CudaGraph graph; bool expert_overlap; };
  CostKey key_;                            ///< without graphs
  int offloaded_layers_ = 0;
  Bytes limit_;
  std::vector<Known> known_;
};

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

  Parts parts;
  LiveTables live;
  StagePlan plan;
  StageWorks works;
  std::vector<memory::LiveLayers> live_layers;
  std::vector<const memory::WeightShapes*> shape_lists;
  std::vector<double> forward, backward;   ///< s a stage
  schedule::StepTimer timer;
  GraphsTooMuch graphs_too_much;
  Shortcuts shortcuts;
  int fullest_stage = 0;                   ///< of the last layout that was too much: a good one to begin with
  PlacementConstants placements[2];        ///< of eager operations, of those under a graph of the whole iteration
};

schedule::PipelineShape pipeline_shape(const Layout& layout, const GridSizes& grid);

/// Whether experts live in a data-parallel grid of their own (else in the dense one).
/// Source: Megatron-LM core/transformer/moe/experts.py (allreduce flag of expert parameters).
constexpr bool experts_apart(const Layout& layout) { return layout.ep > 1 || layout.etp != layout.tp; }

/// Everything on a stage that has weights, in the order of its chunks: calls f(part, copies).
template <class F>
void for_each_part(const Problem& problem, const Parts& parts, const StagePlan& plan, int stage, F f);

/// Parameters of a stage's rank. MTP brings an embedding of its own; a tied head reuses one on the same stage.
memory::ParamCounts stage_params(const Problem& problem, const Parts& parts, const StagePlan& plan, int stage);

/// What decides weights, gradients and optimizer state of some parameters on a rank of the layout.
memory::StaticInputs static_inputs(const Problem& problem, const memory::ParamCounts& params, const Layout& layout,
                                   const GridSizes& grid);

/// The stage's bytes as plain inputs of memory::stage_memory; valid until the next call with the same evaluation.
const memory::StageInputs& stage_inputs(const Problem& problem, Evaluation& evaluation, const Layout& layout,
                                        const GridSizes& grid, int stage);

/// What of a stage neither recompute nor graphs change.
const StageConstants& stage_constants(const Problem& problem, Evaluation& evaluation, const Layout& layout,
                                      const GridSizes& grid, int stage);

/// What a rank of the layout holds outside torch; valid until the next layout.
const memory::OutsideInputs& outside_inputs(const Problem& problem, Evaluation& evaluation, const Layout& layout,
                                            const GridSizes& grid);

template <class F>
void for_each_part(const Problem& problem, const Parts& parts, const StagePlan& plan, int stage, F f) {
  for (int v = 0; v < plan.vpp; ++v) {
    const Chunk& chunk = plan.at(stage, v);
    const bool embeds = chunk.embedding || chunk.mtp_layers > 0;
    if (embeds) f(parts.embedding(), 1);
    if (chunk.vision && problem.vision) {
      f(parts.vision_encoder(), 1);
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

}  // namespace shardfit::estimate
