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
void look_at(const memory::StageInputs& in, const StageHoldings& holdings, const memory::OutsideInputs& outside, int stage,
             DevicePeak& peak) {
  using M = MemoryMoment;
  const memory::StageEvents& events = *holdings.events;
  const auto look_at_one = [&](M moment) {
    MemoryTotal use;
    use.add(MemoryTerm::weights, holdings.allocated[moment]);
    memory::add_graph_pool(in, events, moment, use);
    memory::add_outside_of(in, events, outside, moment, use);
    const bool sooner = use.total() == peak.need && stage == peak.stage && moment < peak.moment;
    if (use.total() > peak.need || sooner) peak = {use.total(), stage, moment};
  };
  // Of moments for which graphs hold the same.
  const auto look = [&](std::initializer_list<M> moments) {
    M most = *moments.begin();
    for (const M m : moments)
      if (holdings.allocated[m] > holdings.allocated[most]) most = m;
    look_at_one(most);
  };
  // Holes grow with what comes and goes, which the moment that allocates the most need not have most of.
  if (memory::leaves_holes(outside.fragmentation)) {
    for (std::size_t m = 0; m < kCount<M>; ++m) look_at_one(M(m));
    return;
  }
  if (in.graphs.impl == CudaGraphImpl::none) return look_at_one(holdings.most);
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
  const auto look = [&](int stage) {
    const StageHoldings& holdings = stage_holdings(problem, e, layout, grid, stage);
    look_at(stage_constants(problem, e, layout, grid, stage).inputs, holdings, outside, stage, peak);
  };
  // What was too much for a neighbour most often is too much for this layout as well.
  const int first = enough && e.fullest_stage < layout.pp && !e.work(e.fullest_stage).repeats ? e.fullest_stage : 0;
  if (first > 0) {
    look(first);
    if (peak.need > *enough) return peak;
    peak = {};
  }
  for (const int stage : e.works.distinct()) {  // the others have fewer live micro-batches
    look(stage);
    if (!enough || peak.need <= *enough) continue;
    e.fullest_stage = stage;
    return peak;
  }
  return peak;
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
    for (const memory::LiveLayers& l : in.layers) host += l.profile->offloaded * l.live + l.profile->saved_total() * l.on_host;
    most = std::max(most, host);
  }
  return most;
}

}  // namespace shardfit::estimate
