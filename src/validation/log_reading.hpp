// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/estimate/estimate.hpp"
#include "validation/measured_run.hpp"

namespace shardfit::validation {

/// What logs call the peak of a run's first step.
inline constexpr const char* kFirstStepPeak = "peak_allocated_first_step_bytes";

/// The ledger of a stage at a moment; the estimate has it.
const MemoryLedger& ledger_of(const Estimate& e, int stage, MemoryMoment moment);

/// Peak allocated bytes of a stage over all moments, and what of it is routing imbalance.
struct AllocatedPeak {
  Bytes allocated, imbalance;
};
AllocatedPeak allocated_peak(const Estimate& e, int stage);

/// The peak of a stage's first step, as far as a log shows it; `resumed`: read as that of a run that started from a
/// checkpoint. As all here a prediction: it never looks at what was measured.
double logged_first_step(const MeasuredRun& run, const Estimate& e, int stage, bool resumed);

/// The peak of a stage in the second step that a log shows.
double logged_second_step(const MeasuredRun& run, const Estimate& e, int stage);

/// The largest over stages and moments.
Bytes largest_allocated(const Estimate& e);
Bytes largest_reserved(const Estimate& e);

/// The peak of allocated bytes that a log shows: of the stage whose rank it is written by, or over all of them.
Bytes logged_peak(const MeasuredRun& run, const Estimate& e);

/// What a report's "peak GiB" counts, as far as its own words tell.
Bytes reported_peak(const MeasuredRun& run, const Estimate& e);

}  // namespace shardfit::validation
