// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "estimate/evaluation.hpp"
#include "shardfit/estimate/peak_risk.hpp"

namespace shardfit::estimate {

/// The fullest rank of a layout: device use, outside torch included.
struct DevicePeak {
  Bytes need;
  int stage = 0;
  MemoryMoment moment = MemoryMoment::forward;
};

/// Looks at every stage and moment, keeping sums only. Stages whose chunks equal their predecessor's hold fewer live
/// micro-batches and are passed over: they cannot be fuller.
/// Ends at the first stage found above `enough`, if there is one: the peak is then no more than an example.
DevicePeak device_peak(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid,
                       std::optional<Bytes> enough = std::nullopt);

/// A ledger for every stage and moment.
std::vector<StageMemory> memory_ledgers(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid);

/// The ledger of one stage and moment.
MemoryLedger memory_ledger(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid, int stage,
                           MemoryMoment moment);

/// Chance that `need`, device use of the fullest rank, passes what the device has; and its largest term.
PeakRisk peak_risk(const Job& job, const MemoryLedger& need);

/// What torch may have: the device's total less nothing (context and NCCL are counted as use).
Bytes usable_memory(const Job& job);

Verdict verdict(const Job& job, const std::vector<StageMemory>& memory);

/// Host bytes per GPU of the fullest rank: offloaded optimizer state and activations.
Bytes host_memory(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid);

}  // namespace shardfit::estimate
