// SPDX-License-Identifier: Apache-2.0
#include "shardfit/estimate/estimator.hpp"

#include <algorithm>

#include "compute/model_flops.hpp"
#include "estimate/device_memory.hpp"
#include "estimate/memory_floors.hpp"
#include "estimate/problem.hpp"
#include "estimate/step.hpp"
#include "estimate/throughput.hpp"
#include "estimate/time_band.hpp"
#include "estimate/views.hpp"

namespace shardfit {

struct Estimator::Workspace::Data {
  std::optional<estimate::Evaluation> evaluation;
};

Estimator::Workspace::Workspace() : data(std::make_unique<Data>()) {}
Estimator::Workspace::~Workspace() = default;
Estimator::Workspace::Workspace(Workspace&&) noexcept = default;

Shortcuts Estimator::Workspace::shortcuts() const { return data->evaluation ? data->evaluation->shortcuts : Shortcuts{}; }

Estimator::Estimator(Job job) : problem_(std::make_unique<const Problem>(std::move(job))) {}
Estimator::~Estimator() = default;
Estimator::Estimator(Estimator&&) noexcept = default;

const Job& Estimator::job() const { return problem_->job; }

namespace {

void set_memory(const estimate::Problem& problem, const estimate::DevicePeak& peak, Quick& quick) {
  quick.peak = peak.need;
  quick.peak_stage = peak.stage;
  quick.peak_moment = peak.moment;
  quick.fits = peak.need <= estimate::usable_memory(problem.job);
}

TimeTerm largest_term(const TimeLedger& ledger) {
  TimeTerm largest = TimeTerm(0);
  for (std::size_t t = 0; t < kCount<TimeTerm>; ++t)
    if (ledger.rows[TimeTerm(t)] > ledger.rows[largest]) largest = TimeTerm(t);
  return largest;
}

void set_time(const estimate::Problem& problem, estimate::Evaluation& e, const Layout& layout, const GridSizes& grid,
              Quick& quick) {
  const estimate::StepAccount step = estimate::step_account(problem, e, layout, grid);
  quick.step_time_s = step.ledger.total().value;
  quick.bottleneck = largest_term(step.ledger);
  quick.tokens_per_s_per_gpu = estimate::tokens_per_s_per_gpu(problem.job, quick.step_time_s);
}

}  // namespace

const StageMemory* most_allocated(const Estimate& e, int stage) {
  const StageMemory* most = nullptr;
  for (const StageMemory& s : e.memory)
    if (s.stage == stage && (!most || s.ledger.allocated() > most->ledger.allocated())) most = &s;
  return most;
}

Quick quick_of(const Estimate& e) {
  return {.step_time_s = e.step_time_s,
          .tokens_per_s_per_gpu = e.tokens_per_s_per_gpu,
          .peak = e.verdict.need,
          .fits = e.verdict.fits,
          .peak_stage = e.verdict.stage,
          .peak_moment = e.verdict.moment,
          .bottleneck = largest_term(e.time)};
}

estimate::Evaluation& Estimator::evaluation(Workspace& workspace) const {
  if (!workspace.data->evaluation) workspace.data->evaluation.emplace(*problem_);
  return *workspace.data->evaluation;
}

GridSizes Estimator::grid_of(const Layout& layout) const {
  return grid_sizes(layout, problem_->job.gpus, problem_->job.training.global_batch_size);
}

Quick Estimator::quick(const Layout& layout, Workspace& workspace) const {
  estimate::Evaluation& e = evaluation(workspace);
  const GridSizes grid = grid_of(layout);
  Quick quick;
  if (!e.prepare(*problem_, layout, grid)) return quick;
  set_memory(*problem_, estimate::device_peak(*problem_, e, layout, grid), quick);
  set_time(*problem_, e, layout, grid, quick);
  return quick;
}

PeakRisk Estimator::peak_risk(const Layout& layout, const Quick& quick, Workspace& workspace) const {
  estimate::Evaluation& e = evaluation(workspace);
  const GridSizes grid = grid_of(layout);
  if (!e.prepare(*problem_, layout, grid)) return {};
  return estimate::peak_risk(problem_->job,
                             estimate::memory_ledger(*problem_, e, layout, grid, quick.peak_stage, quick.peak_moment));
}

TimeBand Estimator::time_band(const Layout& layout, Workspace& workspace) const {
  estimate::Evaluation& e = evaluation(workspace);
  const GridSizes grid = grid_of(layout);
  if (!e.prepare(*problem_, layout, grid)) return {};
  return estimate::band_of(*problem_, e, estimate::step_account(*problem_, e, layout, grid).ledger);
}

Bytes Estimator::usable_memory() const { return estimate::usable_memory(problem_->job); }

Bytes Estimator::host_memory(const Layout& layout, Workspace& workspace) const {
  if (layout.offload == Offload{}) return Bytes(0);
  estimate::Evaluation& e = evaluation(workspace);
  const GridSizes grid = grid_of(layout);
  if (!e.prepare(*problem_, layout, grid)) return Bytes(0);
  return estimate::host_memory(*problem_, e, layout, grid);
}

namespace {

/// Memory of a layout that needs at most `limit`, with the tables ready for its time; nothing for one that needs more.
std::optional<Quick> memory_within(const estimate::Problem& problem, estimate::Evaluation& e, const Layout& layout,
                                   const GridSizes& grid, Bytes limit) {
  if (!e.prepare_placement(problem, layout, grid)) return std::nullopt;
  if (estimate::state_floor(problem, e, layout, grid) > limit) {
    ++e.shortcuts.by_state;
    return std::nullopt;
  }
  if (estimate::kept_floor(problem, e, layout, grid) > limit) {
    ++e.shortcuts.by_recompute;
    return std::nullopt;
  }
  if (e.graphs_too_much.covers(layout, limit)) {
    ++e.shortcuts.by_graphs;
    return std::nullopt;
  }
  e.parts.prepare_costs(layout);
  Quick quick;
  set_memory(problem, estimate::device_peak(problem, e, layout, grid, limit), quick);
  if (quick.peak <= limit) return quick;
  e.graphs_too_much.add(layout);
  return std::nullopt;
}

}  // namespace

std::optional<Quick> Estimator::quick_bound(Bytes limit, const Layout& layout, Workspace& workspace) const {
  estimate::Evaluation& e = evaluation(workspace);
  const GridSizes grid = grid_of(layout);
  std::optional<Quick> quick = memory_within(*problem_, e, layout, grid, limit);
  if (!quick) return quick;
  quick->step_time_s = estimate::step_floor(*problem_, e, layout, grid);
  quick->tokens_per_s_per_gpu = estimate::tokens_per_s_per_gpu(problem_->job, quick->step_time_s);
  return quick;
}

void Estimator::complete(const Layout& layout, Workspace& workspace, Quick& bound) const {
  set_time(*problem_, *workspace.data->evaluation, layout, grid_of(layout), bound);
}

void Estimator::add_distinctions(const Layout& layout, Distinctions& found) const {
  estimate::Parts parts(*problem_);
  parts.prepare_shapes(layout, {});
  const auto add = [&found](EnumSet<RecomputeModule> set) {
    if (!set.empty() && std::find(found.recompute.begin(), found.recompute.end(), set) == found.recompute.end())
      found.recompute.push_back(set);
  };
  parts.for_each([&](const estimate::Part& part) {
    for (const block::Op& op : part.ops) {
      add(op.recomputed_by);
      for (const block::Saved& saved : op.saved) add(saved.dropped_by);
      if (op.scope) found.scopes.insert(*op.scope);
    }
  });
  // A captured attention takes the mask as a static input, whatever its operations.
  if (problem_->job.stack.attention_mask_in_batch) found.scopes.insert(GraphScope::attn);
}

Estimate Estimator::evaluate(const Layout& layout) const {
  const Job& job = problem_->job;
  estimate::Evaluation e(*problem_);
  Estimate out;
  out.layout = layout;
  out.layout_id = layout_id(layout);
  out.grid = grid_of(layout);
  if (!e.prepare(*problem_, layout, out.grid)) return out;
  out.plan = e.plan;

  out.memory = estimate::memory_ledgers(*problem_, e, layout, out.grid);
  out.verdict = estimate::verdict(job, out.memory);
  out.host_memory = estimate::host_memory(*problem_, e, layout, out.grid);

  const estimate::StepAccount step = estimate::step_account(*problem_, e, layout, out.grid);
  out.time = step.ledger;
  out.step_time_s = step.ledger.total().value;
  estimate::set_throughput(job, problem_->sample, layout, out);
  out.stages = estimate::stage_times(*problem_, e, layout, out.grid);
  out.tensors = estimate::tensor_rows(*problem_, e, layout, out.grid);
  out.modules = estimate::module_rows(*problem_, e, layout, out.grid);
  out.traffic = estimate::traffic_rows(*problem_, e, layout, out.grid);
  if (problem_->has_moe && layout.ep * layout.etp > 1) out.dispatcher_sms = comm::sms_taken(e.parts.network());
  const TimeBand band = estimate::band_of(*problem_, e, out.time);
  out.time_band = band.relative;
  out.band_reason = band.reason;
  out.sample = estimate::sample_figures(*problem_, e, layout, out.grid);
  estimate::set_remarks(*problem_, layout, out);
  return out;
}

}  // namespace shardfit
