// SPDX-License-Identifier: Apache-2.0
// Computes:   bounds from below on the device use of a layout's fullest rank.
// Formula:    state: state and small terms with FSDP's buffers at moments without activations. kept: of forward, the state,
//             what live layers save with every module recomputed (at the moment that this is least), and the largest
//             transient of a layer. More recompute saves no more; the dearest event of forward is at least a layer that
//             runs.
// Source:     memory/stage_memory.cpp: these are some of its terms.
// Valid when: activations stay on the device (else 0).
// Ignores:    everything else that is held: it only adds.
// Checked by: tests/laws/memory_bounds_test.cpp, tests/oracle/sweep_test.cpp.

#include "estimate/memory_floors.hpp"

#include <algorithm>

#include "estimate/outside_inputs.hpp"
#include "estimate/stage_constants.hpp"
#include "estimate/stage_inputs.hpp"

namespace shardfit::estimate {
namespace {

/// Saved by the live layers, the embedding and the tower of a stage with every module recomputed: the least of its moments.
Bytes least_kept(const Problem& problem, const Evaluation& e, const StageConstants& c, const LiveCounts& live) {
  const std::size_t kinds = std::size_t(problem.layers.size());
  std::optional<Bytes> least;
  for (std::size_t m = 0; m < live.chunks->size(); ++m) {
    Bytes kept;
    for (const int k : c.order) kept += e.parts.kind(k).least_saved * live.layers[m * kinds + std::size_t(k)];
    const std::int64_t first_chunk = (*live.chunks)[m][std::size_t(c.first_chunk)];
    if (c.embedding) kept += e.parts.embedding().least_saved * first_chunk;
    if (c.vision && tower_checkpoints(problem.job, {}).checkpoints == 0)
      kept += (e.parts.vision_ends().least_saved + e.parts.vision_layers().least_saved +
               e.parts.vision_projector().least_saved) *
              first_chunk;
    least = std::min(least.value_or(kept), kept);
  }
  return least.value_or(Bytes(0));
}

Bytes stage_kept_floor(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid, int stage,
                       const memory::OutsideInputs& outside) {
  // The dearest event is found by sums that round the imbalance once a layer or once for all.
  constexpr Bytes kRounding(1024);
  StageConstants& c = stage_constants(problem, e, layout, grid, stage);
  const LiveCounts& live = live_counts(problem, e, layout, grid, stage);
  const memory::StageBase& base = c.base;
  Bytes transient;
  for (const int k : c.order) transient = std::max(transient, e.parts.kind(k).forward_transient);
  using M = MemoryMoment;
  Bytes allocated = base.state[M::forward] + base.fsdp.at(M::forward).unsharded_weights +
                    std::min(base.fsdp.at(M::forward).unreduced_gradients, base.fsdp.at(M::forward, true).unreduced_gradients) +
                    least_kept(problem, e, c, live) + transient;
  allocated += c.inputs.deferred_head + c.inputs.pipeline_buffers;
  MemoryTotal use;
  use.add(MemoryTerm::weights, std::max(Bytes(0), allocated - kRounding));
  memory::add_outside(outside, Bytes(0), use);
  return use.total();
}

}  // namespace

Bytes state_floor(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid) {
  std::optional<Bytes>& kept = e.placement().floor;
  if (kept) return *kept;
  const memory::OutsideInputs& outside = outside_inputs(problem, e, layout, grid);
  Bytes floor;
  for (const int stage : e.works.distinct()) {
    const memory::StageBase& base = stage_constants(problem, e, layout, grid, stage).base;
    for (const MemoryMoment m : {MemoryMoment::after_build, MemoryMoment::between_steps, MemoryMoment::optimizer_step}) {
      MemoryTotal use;
      use.add(MemoryTerm::weights, base.state[m]);
      memory::add_fsdp(base.fsdp.at(m), use);
      memory::add_outside(outside, Bytes(0), use);
      floor = std::max(floor, use.total());
    }
  }
  kept = floor;
  return floor;
}

Bytes kept_floor(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid) {
  if (layout.recompute.granularity == RecomputeGranularity::full || layout.offload.activation_layers > 0 ||
      !layout.offload.activation_modules.empty())
    return Bytes(0);
  std::optional<Bytes>& kept = e.placement().kept_floor[layout.overlap.expert_alltoall];
  if (kept) return *kept;
  const memory::OutsideInputs& outside = outside_inputs(problem, e, layout, grid);
  Bytes floor;
  for (const int stage : e.works.distinct())
    floor = std::max(floor, stage_kept_floor(problem, e, layout, grid, stage, outside));
  kept = floor;
  return floor;
}

}  // namespace shardfit::estimate
