// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "estimate/parts.hpp"
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

 private:
  using Key = std::tuple<int, int, int, int, bool, int>;
  std::map<Key, std::vector<std::vector<int>>> tables_;
};

/// What of a stage's bytes neither recompute nor graphs nor expert overlap change.
struct StageConstants {
  memory::SmallTerms small;
  memory::StaticState state;
  memory::FsdpInputs fsdp;
};

/// The constants of the stages of the layout at hand, kept while what they come from stays as it is: the parts' tables,
/// pp, vpp, split, sharding, instances, offload of the optimizer, double buffer, tensor-parallel overlap.
class StageConstantsCache {
 public:
  /// The slot of a stage, emptied if the layout differs; `made` tells whether it is filled.
  struct Slot {
    StageConstants constants;
    bool made = false;
  };
  Slot& slot(const Layout& layout, int builds, int stage);

 private:
  bool is_of(const Layout& layout, int builds) const;
  Layout layout_;
  int builds_ = 0;
  std::vector<Slot> slots_;
};

/// Reused buffers of one thread and the layout they hold.
struct Evaluation {
  explicit Evaluation(const Problem& problem) : parts(problem) {}
  Parts parts;
  LiveTables live;
  StagePlan plan;
  std::vector<memory::LiveLayers> live_layers;
  std::vector<const memory::WeightShapes*> shape_lists;
  std::vector<double> forward, backward;   ///< s a stage
  StageConstantsCache constants[2];        ///< of eager operations, of those under a graph of the whole iteration
};

/// Whether a stage runs what its predecessor runs: as many layers of each kind in each chunk, and nothing but layers.
bool same_work_as_previous(const Problem& problem, const StagePlan& plan, int stage);

schedule::PipelineShape pipeline_shape(const Layout& layout, const GridSizes& grid);

/// Whether experts live in a data-parallel grid of their own (else in the dense one).
/// Source: Megatron-LM core/transformer/moe/experts.py (allreduce flag of expert parameters).
constexpr bool experts_apart(const Layout& layout) { return layout.ep > 1 || layout.etp != layout.tp; }

/// Everything on a stage that has weights, in the order of its chunks: calls f(part, copies).
template <class F>
void for_each_part(const Problem& problem, const Parts& parts, const StagePlan& plan, int stage, F f);

/// Parameters of a stage's rank. MTP brings an embedding of its own; a tied head reuses one on the same stage.
memory::ParamCounts stage_params(const Problem& problem, const Parts& parts, const StagePlan& plan, int stage);

/// The stage's bytes as plain inputs of memory::stage_memory; valid until the next call with the same evaluation.
memory::StageInputs stage_inputs(const Problem& problem, Evaluation& evaluation, const Layout& layout,
                                 const GridSizes& grid, int stage);

/// What a rank of the layout holds outside torch.
memory::OutsideInputs outside_inputs(const Problem& problem, Evaluation& evaluation, const Layout& layout,
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
