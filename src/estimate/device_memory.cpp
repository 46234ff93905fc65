// SPDX-License-Identifier: Apache-2.0
#include "estimate/device_memory.hpp"

#include <initializer_list>

#include "estimate/outside_inputs.hpp"
#include "estimate/stage_constants.hpp"
#include "estimate/stage_inputs.hpp"
#include "memory/verdict.hpp"

namespace shardfit::estimate {
namespace {

/// The moments of a stage that may hold the most: the first of those that allocate the most; under graphs, which reserve
/// apart for their replays, for the idle device and for neither, one of each.
void look_at(const memory::StageInputs& in, const memory::OutsideInputs& outside, int stage, DevicePeak& peak) {
  using M = MemoryMoment;
  const memory::StageEvents events(in);
  const EnumArray<MemoryMoment, MemoryTotal> totals = memory::stage_totals(in, events);
  const auto look_at_one = [&](M moment) {
    MemoryTotal use = totals[moment];
    memory::add_outside_of(in, events, outside, moment, use);
    const bool sooner = use.total() == peak.need && stage == peak.stage && moment < peak.moment;
    if (use.total() > peak.need || sooner) peak = {use.total(), stage, moment};
  };
  const auto look = [&](std::initializer_list<M> moments) {
    M most = *moments.begin();
    for (const M m : moments)
      if (totals[m].allocated() > totals[most].allocated()) most = m;
    look_at_one(most);
  };
  // Holes grow with what comes and goes, which the moment that allocates the most need not have most of.
  if (memory::leaves_holes(outside.fragmentation)) {
    for (std::size_t m = 0; m < kCount<M>; ++m) look_at_one(M(m));
    return;
  }
  if (in.graphs.impl == CudaGraphImpl::none)
    return look({M::after_build, M::between_steps, M::forward, M::backward, M::optimizer_step, M::first_step});
  look({M::after_build, M::first_step});
  look({M::between_steps, M::optimizer_step});
  look({M::forward, M::backward});
}

}  // namespace

Bytes usable_memory(const Job& job) { return gib(job.hardware.gpu.memory_usable_gib.value); }

DevicePeak device_peak(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid,
                       std::optional<Bytes> enough) {
  const memory::OutsideInputs& outside = outside_inputs(problem, e, layout, grid);
  DevicePeak peak;
  const auto look = [&](int stage) { look_at(stage_inputs(problem, e, layout, grid, stage), outside, stage, peak); };
  // What was too much for a neighbour most often is too much for this layout as well.
  const int first = enough && e.fullest_stage < layout.pp && !e.work(e.fullest_stage).repeats ? e.fullest_stage : 0;
  if (first > 0) {
    look(first);
    if (peak.need > *enough) return peak;
    peak = {};
  }
  for (int stage = 0; stage < layout.pp; ++stage) {
    if (e.work(stage).repeats) continue;   // and fewer live micro-batches
    look(stage);
    if (!enough || peak.need <= *enough) continue;
    e.fullest_stage = stage;
    return peak;
  }
  return peak;
}

Bytes state_floor(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid) {
  std::optional<Bytes>& kept = e.placement().floor;
  if (kept) return *kept;
  const memory::OutsideInputs& outside = outside_inputs(problem, e, layout, grid);
  Bytes floor;
  for (int stage = 0; stage < layout.pp; ++stage) {
    if (e.work(stage).repeats) continue;
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

std::vector<StageMemory> memory_ledgers(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid) {
  const memory::OutsideInputs& outside = outside_inputs(problem, e, layout, grid);
  std::vector<StageMemory> all;
  for (int stage = 0; stage < layout.pp; ++stage) {
    const memory::StageInputs& in = stage_inputs(problem, e, layout, grid, stage);
    const memory::StageEvents events(in);
    for (std::size_t m = 0; m < kCount<MemoryMoment>; ++m) {
      all.push_back({stage, MemoryMoment(m), {}});
      memory::device_memory(in, events, outside, MemoryMoment(m), all.back().ledger);
    }
  }
  return all;
}

MemoryLedger memory_ledger(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid, int stage,
                           MemoryMoment moment) {
  const memory::StageInputs& in = stage_inputs(problem, e, layout, grid, stage);
  MemoryLedger ledger;
  memory::device_memory(in, memory::StageEvents(in), outside_inputs(problem, e, layout, grid), moment, ledger);
  return ledger;
}

PeakRisk peak_risk(const Job& job, const MemoryLedger& need) {
  return {memory::oom_probability(need.total(), usable_memory(job), memory::scenario_band(need, job.stack.framework)),
          largest_term(need)};
}

Verdict verdict(const Job& job, const std::vector<StageMemory>& memory) {
  Verdict v;
  v.usable = usable_memory(job);
  const StageMemory* fullest = nullptr;
  for (const StageMemory& s : memory) {
    if (fullest && s.ledger.total() <= fullest->ledger.total()) continue;
    fullest = &s;
  }
  if (!fullest) return v;
  v.need = fullest->ledger.total();
  v.stage = fullest->stage;
  v.moment = fullest->moment;
  v.fits = v.need <= v.usable;
  v.p_oom = peak_risk(job, fullest->ledger).p_oom;
  return v;
}

Bytes host_memory(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid) {
  Bytes most;
  for (int stage = 0; stage < layout.pp; ++stage) {
    const memory::StageInputs& in = stage_inputs(problem, e, layout, grid, stage);
    Bytes host = in.state.on_host;
    for (const memory::LiveLayers& l : in.layers)
      host += l.profile->offloaded * l.live + l.profile->saved_total() * l.on_host;
    most = std::max(most, host);
  }
  return most;
}

}  // namespace shardfit::estimate
