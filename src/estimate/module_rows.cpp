// SPDX-License-Identifier: Apache-2.0
// Computes:   time and memory of each part of the model on each stage, for one micro-batch.
// Formula:    a part's operations are split by module; each list goes through the formulas of the whole: block_time for
//             forward, backward and what backward runs again, activation_profile for kept bytes, static_state for weights,
//             gradients and optimizer state. A layer under full recompute keeps its input alone, which is a row of its own.
// Source:     block_time.cpp, memory/activations.cpp, memory/static_state.cpp.
// Valid when: as there. Device time: launches that the device waits for, and waits for the slowest rank, belong to no
//             module; they are rows of the step.
// Ignores:    groups of several layers under uniform recompute (one input each is counted); padding of the optimizer's
//             buffers, which modules share.
// Checked by: tests/laws/module_rows_test.cpp.

#include <algorithm>
#include <cmath>

#include "estimate/stage_constants.hpp"
#include "estimate/stage_load.hpp"
#include "estimate/views.hpp"
#include "memory/activations.hpp"

namespace shardfit::estimate {
namespace {

std::string_view part_name(block::View view) {
  switch (view) {
    case block::View::vision_encoder: return "encoder";
    case block::View::vision_projector: return "projector";
    default: return "decoder";
  }
}

/// The operations of one module of a part, as lists of their own.
struct ModuleOps {
  block::OpList ops;
  TimedOps timed;
};

EnumArray<block::View, ModuleOps> by_module(const Part& part) {
  EnumArray<block::View, ModuleOps> lists;
  for (std::size_t i = 0; i < part.ops.size(); ++i) {
    ModuleOps& list = lists[part.ops[i].view];
    list.ops.push_back(part.ops[i]);
    list.timed.push_back(part.timed[i]);
  }
  return lists;
}

/// How many of a part's copies on the stage keep everything, and how many only their input. Of a tower's layers, which are
/// one list, shares.
struct Copies {
  double plain = 0, checkpointed = 0;
};

class ModuleTable {
 public:
  ModuleTable(const Problem& problem, const Evaluation& e, const Layout& layout, const GridSizes& grid, int stage)
      : problem_(problem), e_(e), layout_(layout), grid_(grid), stage_(stage) {}

  /// `checkpoints`: inputs that the checkpointed copies keep, together.
  void add(const Part& part, Copies copies, Bytes checkpoints) {
    const EnumArray<block::View, ModuleOps> lists = by_module(part);
    const int all = int(std::lround(copies.plain + copies.checkpointed));
    for (std::size_t v = 0; v < kCount<block::View>; ++v)
      if (!lists[block::View(v)].ops.empty()) add_module(block::View(v), lists[block::View(v)], copies, all);
    if (copies.checkpointed == 0 || checkpoints.value == 0) return;
    const block::View first = part.ops.front().view;
    ModuleRow& row = checkpoints_[part_name(first) == "encoder"];
    row.part = part_name(first);
    row.layers += int(std::lround(copies.checkpointed));
    row.saved += checkpoints;
  }

  /// The tower's parts are lists over all its layers: says how many those are, mergers, and layers that keep their input.
  void set_tower_layers(int encoder, int mergers, int checkpoints) {
    rows_[block::View::vision_encoder].layers = encoder;
    rows_[block::View::vision_projector].layers = mergers;
    checkpoints_[1].layers = checkpoints;
  }

  void append_to(std::vector<ModuleRow>& rows) {
    for (std::string_view part : {"encoder", "projector", "decoder"}) {
      for (std::size_t v = 0; v < kCount<block::View>; ++v) {
        ModuleRow& row = rows_[block::View(v)];
        if (row.layers == 0 || part_name(block::View(v)) != part) continue;
        row.part = part;
        row.module = name_of(block::View(v));
        row.state = state_of(params_[block::View(v)]);
        push(row, rows);
      }
      for (ModuleRow& row : checkpoints_) {
        if (row.layers == 0 || row.part != part) continue;
        row.module = "checkpoints";
        push(row, rows);
      }
    }
  }

 private:
  void add_module(block::View view, const ModuleOps& list, Copies copies, int all) {
    const double slowdown = problem_.job.time[Coefficient::overlap_slowdown];
    const BlockTime time = block_time(list.timed, layout_, e_.parts.rates());
    memory::ProfileOptions options{.offloaded = layout_.offload.activation_modules};
    if (layout_.recompute.granularity == RecomputeGranularity::selective) options.recompute = layout_.recompute;
    ModuleRow& row = rows_[view];
    row.layers += all;
    row.forward_s += all * time.forward.device(0, slowdown);
    row.backward_s += all * time.backward.device(0, slowdown);
    row.rerun_s += all * time.rerun.device(0, slowdown) + copies.checkpointed * time.forward.device(0, slowdown);
    const Bytes saved = memory::activation_profile(list.ops, options).saved_total();
    row.saved += Bytes(std::llround(double(saved.value) * copies.plain));
    params_[view] += memory::count_params(list.ops) * all;
    for (const block::Op& op : list.ops)
      for (const block::Weight& w : op.weights) row.parameters += w.elements() * all;
  }

  Bytes state_of(const memory::ParamCounts& params) const {
    const memory::StaticState s = memory::static_state(static_inputs(problem_, params, layout_, grid_));
    return s.weights + s.quantized_weights + s.gradients + s.master_weights + s.exp_avg + s.exp_avg_sq;
  }

  void push(ModuleRow& row, std::vector<ModuleRow>& rows) const {
    row.stage = stage_;
    rows.push_back(row);
  }

  const Problem& problem_;
  const Evaluation& e_;
  const Layout& layout_;
  const GridSizes& grid_;
  int stage_;
  EnumArray<block::View, ModuleRow> rows_{};
  EnumArray<block::View, memory::ParamCounts> params_{};
  ModuleRow checkpoints_[2];  ///< of the decoder, of the tower
};

/// Layers of one kind in a chunk that full recompute runs again.
int rerun_layers(const Problem& problem, const Chunk& chunk, const Recompute& recompute, int kind) {
  if (recompute.granularity != RecomputeGranularity::full) return 0;
  const int n = recompute.method == RecomputeMethod::block ? std::min(recompute.num_layers, chunk.num_layers)
                                                           : chunk.num_layers;
  return problem.layers.count(kind, chunk.first_layer, n);
}

/// Adds a chunk's decoder layers, those under full recompute apart.
void add_layers(const Problem& problem, const Evaluation& e, const Layout& layout, const Chunk& chunk, ModuleTable& table) {
  for (int k = 0; k < problem.layers.size(); ++k) {
    const int n = problem.layers.count(k, chunk.first_layer, chunk.num_layers);
    if (n == 0) continue;
    const int rerun = rerun_layers(problem, chunk, layout.recompute, k);
    const Bytes input = e.parts.kind(k).kept->checkpointed.saved_total();
    table.add(e.parts.kind(k), {double(n - rerun), double(rerun)}, input * rerun);
  }
}

void add_tower(const Problem& problem, const Evaluation& e, const Layout& layout, ModuleTable& table) {
  const memory::CheckpointedLayers again = tower_checkpoints(problem.job, layout.recompute);
  const int depth = problem.job.model.vision->depth;
  const Copies layers{double(again.plain) / depth, double(depth - again.plain) / depth};
  table.add(e.parts.vision_ends(), {1, 0}, {});
  table.add(e.parts.vision_layers(), layers, e.parts.tower_input() * again.checkpoints);
  table.add(e.parts.vision_projector(), {1, 0}, {});
  const auto& deepstack = problem.job.model.vision->deepstack;
  table.set_tower_layers(depth, 1 + (deepstack ? int(deepstack->vision_layer_indexes.size()) : 0), again.checkpoints);
}

}  // namespace

std::vector<ModuleRow> module_rows(const Problem& problem, const Evaluation& e, const Layout& layout, const GridSizes& grid) {
  std::vector<ModuleRow> rows;
  const bool full = layout.recompute.granularity == RecomputeGranularity::full &&
                    layout.recompute.method == RecomputeMethod::uniform;
  for (int stage = 0; stage < layout.pp; ++stage) {
    ModuleTable table(problem, e, layout, grid, stage);
    for (int v = 0; v < e.plan.vpp; ++v) {
      const Chunk& chunk = e.plan.at(stage, v);
      const bool embeds = chunk.embedding || chunk.mtp_layers > 0;
      if (embeds) table.add(e.parts.embedding(), {1, 0}, {});
      if (chunk.vision && problem.vision) add_tower(problem, e, layout, table);
      add_layers(problem, e, layout, chunk, table);
      for (int depth = 0; depth < chunk.mtp_layers; ++depth)
        table.add(e.parts.mtp(depth == 0), full ? Copies{0, 1} : Copies{1, 0},
                  e.parts.mtp(depth == 0).kept->checkpointed.saved_total());
      if (chunk.head)
        table.add(problem.job.model.text.tie_word_embeddings && embeds ? e.parts.tied_head() : e.parts.head(), {1, 0}, {});
    }
    table.append_to(rows);
  }
  return rows;
}

}  // namespace shardfit::estimate
