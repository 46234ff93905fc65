// SPDX-License-Identifier: Apache-2.0
#include "estimate/device_memory.hpp"

#include "memory/verdict.hpp"

namespace shardfit::estimate {
namespace {

template <class Acc>
Acc device_use(const memory::StageInputs& in, const memory::StageEvents& events, const memory::OutsideInputs& outside,
               MemoryMoment moment) {
  Acc acc;
  memory::device_memory(in, events, outside, moment, acc);
  return acc;
}

}  // namespace

Bytes usable_memory(const Job& job) { return gib(job.hardware.gpu.memory_usable_gib.value); }

DevicePeak device_peak(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid,
                       std::optional<Bytes> enough) {
  const memory::OutsideInputs& outside = outside_inputs(problem, e, layout, grid);
  DevicePeak peak;
  for (int stage = 0; stage < layout.pp; ++stage) {
    if (e.work(stage).repeats) continue;   // and fewer live micro-batches
    const memory::StageInputs& in = stage_inputs(problem, e, layout, grid, stage);
    const memory::StageEvents events(in);
    for (std::size_t m = 0; m < kCount<MemoryMoment>; ++m) {
      const Bytes need = device_use<MemoryTotal>(in, events, outside, MemoryMoment(m)).total();
      if (need > peak.need) peak = {need, stage, MemoryMoment(m)};
      if (enough && need > *enough) return peak;
    }
  }
  return peak;
}

std::vector<StageMemory> memory_ledgers(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid) {
  const memory::OutsideInputs& outside = outside_inputs(problem, e, layout, grid);
  std::vector<StageMemory> all;
  for (int stage = 0; stage < layout.pp; ++stage) {
    const memory::StageInputs& in = stage_inputs(problem, e, layout, grid, stage);
    const memory::StageEvents events(in);
    for (std::size_t m = 0; m < kCount<MemoryMoment>; ++m)
      all.push_back({stage, MemoryMoment(m), device_use<MemoryLedger>(in, events, outside, MemoryMoment(m))});
  }
  return all;
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
  v.p_oom = memory::oom_probability(v.need, v.usable, memory::scenario_band(fullest->ledger));
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
