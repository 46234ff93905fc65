// SPDX-License-Identifier: Apache-2.0
// Computes:   the time of one training step, by term.
// Formula:    micro-batches of the slowest stage + bubble + stage transfers + exposed data-parallel traffic + optimizer +
//             offload + a fixed overhead.
// Source:     composition: step-time study of published runs; schedule: schedule/step_time.hpp.
// Valid when: all ranks of a stage take the same time but for the stated imbalances.
// Ignores:    checkpointing, evaluation, logging beyond the fixed overhead.
// Checked by: tests/estimate, tests/measured, tests/laws.

#include "estimate/step.hpp"

#include "compute/optimizer_step.hpp"

namespace shardfit::estimate {
namespace {

void add_pass(TimeLedger& ledger, const PassTime& t, double n, double ep_hidden, double slowdown) {
  ledger.add(TimeTerm::gemm, Seconds(t.gemm * n));
  ledger.add(TimeTerm::experts, Seconds(t.experts * n));
  ledger.add(TimeTerm::attention, Seconds(t.attention * n));
  ledger.add(TimeTerm::scan, Seconds(t.scan * n));
  ledger.add(TimeTerm::memory_bound, Seconds(t.memory * n));
  ledger.add(TimeTerm::quantize, Seconds(t.quantize * n));
  ledger.add(TimeTerm::kernel_gaps, Seconds(t.gaps * n));
  ledger.add(TimeTerm::tensor_parallel, Seconds(t.tp * n));
  ledger.add(TimeTerm::expert_parallel, Seconds(t.exposed_ep(ep_hidden) * n));
  ledger.add(TimeTerm::context_parallel, Seconds(t.cp * n));
  ledger.add(TimeTerm::dispatcher_sync, Seconds((t.sync + t.serial) * n));
  ledger.add(TimeTerm::overlap_slowdown, Seconds((t.hidden + t.ep_slowing * ep_hidden) * slowdown * n));
}

/// Muon's orthogonalisation of a stage's matrices: whole ones (those split over TP are gathered, and every TP rank repeats the
/// work), shared out over the data-parallel ranks where the optimizer is split by layers, but never less than the longest
/// one. Source: Megatron-LM core/optimizer, muon_tp_mode "duplicated".
double muon_seconds(const Problem& problem, const Evaluation& e, const Layout& layout, const GridSizes& grid, int stage) {
  if (problem.job.training.optimizer.kind != OptimizerKind::muon) return 0;
  const bool shared_out = layout.sharding == Sharding::layerwise;
  const double dense_ranks = shared_out ? std::max(1, grid.dp * layout.cp) : 1;
  const double expert_ranks = shared_out ? (experts_apart(layout) ? std::max(1, grid.edp) : dense_ranks) : 1;
  double dense = 0, expert = 0, longest = 0;
  for_each_part(problem, e.parts, e.plan, stage, [&](const Part& part, int copies) {
    for (const block::Op& op : part.ops)
      for (const block::Weight& w : op.weights) {
        if (!w.trainable || w.embedding || w.cols <= 1 || w.rows <= 1 || w.count <= 0) continue;
        // Whether rows or columns are split is not told: the dearer, squarer of the two.
        const int ways = w.split == block::Split::replicated ? 1 : w.expert ? layout.etp : layout.tp;
        const double rows = double(w.rows), cols = double(w.cols);
        const double one = std::max(compute::newton_schulz_time(rows * ways, cols, 1, problem.device),
                                    compute::newton_schulz_time(rows, cols * ways, 1, problem.device));
        (w.expert ? expert : dense) += one * double(w.count) * copies;
        longest = std::max(longest, one);
      }
  });
  return std::max(longest, dense / dense_ranks + expert / expert_ranks);
}

}  // namespace

compute::OptimizerLoad optimizer_load(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid,
                                      int stage) {
  const memory::ParamCounts& p = stage_params(problem, e, stage);
  const bool apart = experts_apart(layout);
  const double dense = double(p.dense + p.dense_fp32), expert = double(p.expert + p.expert_fp32);
  const bool sharded = layout.sharding != Sharding::none;
  const double dense_shards = sharded ? std::max(1, grid.dp * layout.cp / layout.optimizer_instances) : 1;
  const double expert_shards = sharded ? (apart ? std::max(1, grid.edp / layout.optimizer_instances) : dense_shards) : 1;
  const bool grads_sharded = layout.sharding != Sharding::none && layout.sharding != Sharding::optimizer &&
                             layout.sharding != Sharding::layerwise;
  compute::OptimizerLoad load;
  load.shard_elements = dense / dense_shards + expert / expert_shards;
  load.gradient_elements = grads_sharded ? load.shard_elements : dense + expert;
  // Linear layers of the run's own precision; a weight in bf16 with copies beside it counts by these (2 B an element).
  const double copied_dense = double(p.linear_trainable_dense) + double(p.copy_bytes - p.copy_bytes_expert) / 2;
  const double copied_expert = double(p.linear_trainable_expert) + double(p.copy_bytes_expert) / 2;
  const bool shards_copies = layout.sharding == Sharding::full;
  load.parameter_elements = shards_copies ? copied_dense / dense_shards + copied_expert / expert_shards
                                          : copied_dense + copied_expert;
  load.offload_fraction = layout.offload.optimizer_fraction;
  load.host_link = problem.job.hardware.node.host_link_gb_per_s.value * kGB;
  return load;
}

double boundary_transfer(Evaluation& e, const Layout& layout, const GridSizes& grid) {
  if (layout.pp == 1) return 0;
  std::optional<double>& kept = e.placement().transfer;
  if (kept) return *kept;
  const block::Shapes& s = e.parts.shapes();
  const topology::GroupLinks& links = e.parts.links_of(group_shapes(layout, grid).pp);
  kept = comm::collective_time(block::CollectiveKind::send_recv, double(s.stream_tokens * s.hidden * s.e), links,
                               e.parts.network());
  return *kept;
}

namespace {

const StepConstants& step_constants(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid,
                                    int stage) {
  PlacementConstants::Stage& kept = e.placement().stages[std::size_t(stage)];
  if (kept.step_made) return kept.step;
  StepConstants& c = kept.step;
  c = {};
  for_each_data_parallel_call(problem, e, layout, grid, stage, [&](const DataParallelCall& call) {
    (call.exposed ? c.exposed : call.gradient ? c.reductions : c.gathers) += call.seconds * call.calls;
  });
  c.optimizer = compute::optimizer_step_time(optimizer_load(problem, e, layout, grid, stage), problem.job.training.optimizer,
                                             problem.job.training.precision, problem.device) +
                muon_seconds(problem, e, layout, grid, stage);
  kept.step_made = true;
  return c;
}

}  // namespace

namespace {

/// Sums of each distinct stage, in the order of StageWorks::distinct.
const std::vector<StageSums>& sums_of_stages(const Problem& problem, Evaluation& e, const Layout& layout) {
  PaceTable& table = e.paces();
  const std::optional<std::size_t> number = e.parts.cost_number();
  if (number && table.sums_of == number) return table.sums;
  table.sums.clear();
  for (const int stage : e.works.distinct()) table.sums.push_back(stage_sums(problem, e, layout, stage));
  table.sums_of = number;
  return table.sums;
}

/// Shares of paired passes of each stage; all 0 without expert overlap.
double pairs_of(Evaluation& e, const Layout& layout, const GridSizes& grid, int stage) {
  if (!layout.overlap.expert_alltoall) return 0;
  std::vector<double>& shares = e.paces().shares;
  if (shares.empty())
    for (int i = 0; i < layout.pp; ++i) shares.push_back(schedule::combined_1f1b_pairs(pipeline_shape(layout, grid), i));
  return shares[std::size_t(stage)];
}

/// Fills the seconds of all stages.
SlowestStage slowest_stage(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid) {
  PaceTable& table = e.paces();
  table.forward.resize(std::size_t(layout.pp));
  table.backward.resize(std::size_t(layout.pp));
  const std::vector<StageSums>& all = sums_of_stages(problem, e, layout);
  const double wait = image_wait(problem, e, layout, grid);
  SlowestStage slowest;
  StageSeconds seconds;
  std::size_t next = 0;
  for (int stage = 0; stage < layout.pp; ++stage) {
    const bool repeats = e.work(stage).repeats;
    if (!repeats) ++next;
    const StageSums& sums = all[next - 1];
    // Under expert overlap equal stages still differ in how many of their passes have a partner.
    if (!repeats || layout.overlap.expert_alltoall)
      seconds = stage_seconds(problem, e, stage, sums, pairs_of(e, layout, grid, stage), wait);
    table.forward[std::size_t(stage)] = seconds.forward_s;
    table.backward[std::size_t(stage)] = seconds.backward_s;
    if (stage == 0 || seconds.total() > slowest.seconds.total()) slowest = {stage, seconds, sums.copy};
  }
  return slowest;
}

/// The pace of the layout at hand, with its slowest stage.
Pace& pace_of(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid) {
  e.paces().begin({.builds = e.parts.builds(),
                   .plans = e.works.plans(),
                   .microbatches = grid.microbatches,
                   .group = pipeline_shape(layout, grid).group,
                   .offloaded_layers = layout.offload.activation_layers,
                   .image_wait = image_wait(problem, e, layout, grid),
                   .transfer = boundary_transfer(e, layout, grid)});
  Pace& pace = e.paces().at(e.parts.cost_number(), layout.overlap.expert_alltoall);
  if (pace.has_slowest) return pace;
  pace.slowest = slowest_stage(problem, e, layout, grid);
  pace.has_slowest = true;
  e.paces().filled = &pace;
  return pace;
}

/// What all micro-batches of a step come to.
TimeLedger microbatch_ledger(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid,
                             const SlowestStage& of) {
  const double slowdown = problem.job.time[Coefficient::overlap_slowdown], m = grid.microbatches;
  const StageSeconds& slowest = of.seconds;
  const StagePasses passes = stage_passes(e, of.stage, of.copy);
  const schedule::StepTime step = e.timer.time(pipeline_shape(layout, grid), e.paces().forward, e.paces().backward,
                                               boundary_transfer(e, layout, grid));
  TimeLedger ledger;
  add_pass(ledger, passes.forward, m, slowest.ep_hidden, slowdown);
  add_pass(ledger, passes.backward, m, slowest.ep_hidden, slowdown);
  ledger.add(TimeTerm::recompute, Seconds(slowest.rerun_s * m));
  ledger.add(TimeTerm::host, Seconds(slowest.host_extra * m));
  ledger.add(TimeTerm::vision, Seconds((slowest.vision.forward + slowest.vision.backward) * m));
  ledger.add(TimeTerm::offload, Seconds(slowest.offload_exposed * m));
  ledger.add(TimeTerm::pipeline_bubble, Seconds(step.bubble));
  ledger.add(TimeTerm::pipeline_p2p, Seconds(step.p2p));
  return ledger;
}

}  // namespace

double step_floor(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid) {
  constexpr double kRounding = 1e-9;  // far more than sums of some dozens of terms are off
  const double busy = grid.microbatches * pace_of(problem, e, layout, grid).slowest.seconds.total();
  return (busy + milliseconds(problem.job.time[Coefficient::step_overhead_ms]).value) * (1 - kRounding);
}

namespace {

/// Notes when each distinct stage works; `paces` holds the seconds of this pace.
void note_windows(const Evaluation& e, const Layout& layout, PaceTable& paces, Pace& pace) {
  std::vector<StageWindow>& windows = paces.windows_of(pace);
  pace.first_window = windows.size();
  pace.forward_round = pace.backward_round = 0;
  for (int stage = 0; stage < layout.pp; ++stage) {
    const double forward = paces.forward[std::size_t(stage)], backward = paces.backward[std::size_t(stage)];
    // The first stage reduces and gathers in other buckets than those that run the same.
    if (stage > 1 && e.work(stage).repeats)
      ++windows.back().alike;
    else
      windows.push_back({stage, 1, forward, backward, pace.forward_round, pace.backward_round});
    pace.forward_round += forward;
    pace.backward_round += backward;
  }
  pace.windows = windows.size() - pace.first_window;
}

StepAddition added_once(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid, const Pace& pace) {
  const StackProfile& stack = problem.job.stack;
  DataParallelTime time(layout, grid.microbatches, stack.aligns_param_gather(), pace.forward_round, pace.backward_round);
  for (std::size_t i = 0; i < pace.windows; ++i) {
    const StageWindow& window = e.paces().windows_of(pace)[pace.first_window + i];
    const int beyond = pace.slowest.stage - window.stage;
    time.add(window, step_constants(problem, e, layout, grid, window.stage), beyond >= 0 && beyond < window.alike);
  }
  return time.sum();
}

}  // namespace

StepAccount step_account(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid) {
  Pace& pace = pace_of(problem, e, layout, grid);
  if (!pace.has_ledger) {
    if (e.paces().filled != &pace) slowest_stage(problem, e, layout, grid);  // another layout's seconds stand there
    e.paces().filled = &pace;
    pace.ledger = microbatch_ledger(problem, e, layout, grid, pace.slowest);
    note_windows(e, layout, e.paces(), pace);
    pace.has_ledger = true;
  }
  StepAccount account{pace.ledger, pace.slowest.stage};
  TimeLedger& ledger = account.ledger;
  const StepAddition once = added_once(problem, e, layout, grid, pace);
  ledger.add(TimeTerm::data_parallel, Seconds(once.exposed));
  ledger.add(TimeTerm::overlap_slowdown, Seconds(once.hidden * problem.job.time[Coefficient::overlap_slowdown]));
  ledger.add(TimeTerm::optimizer, Seconds(once.optimizer));
  ledger.add(TimeTerm::step_overhead, milliseconds(problem.job.time[Coefficient::step_overhead_ms]));
  return account;
}

}  // namespace shardfit::estimate
