// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/estimate/estimate.hpp"
#include "shardfit/report/document.hpp"
#include "shardfit/spec/scenario.hpp"

namespace shardfit::report {

// Views over one estimate: each reads part of it and is complete in itself, so that commands can mix them.

/// Fits or not, by how much, where and when.
Section verdict_section(const Estimate& estimate);
/// Step time and what follows from it.
Section throughput_section(const Estimate& estimate);
/// What samples come to: visual tokens, spread, rows, waits. Only for runs with a tower.
Section workload_section(const Scenario& scenario, const Estimate& estimate);
/// Every field of the layout and its id.
Section layout_section(const Estimate& estimate);
/// One row a pipeline stage, at its own dearest moment.
Section stage_memory_section(const Estimate& estimate);
/// The bill of the fullest rank at its dearest moment: percent, size, term; total last.
Section memory_bill_section(const Estimate& estimate);
/// The same bill for every stage and moment, for data files.
Section memory_moments_section(const Estimate& estimate);
/// Where a step's time goes, in the order of the terms, with a bar from start to end.
Section time_section(const Estimate& estimate);
/// Forward and backward of one micro-batch on every stage.
Section stage_time_section(const Estimate& estimate);
/// Collectives of one rank of the stage that sends most of the time: a row a group, collective and phase.
Section traffic_section(const Estimate& estimate);
/// Every collective of one rank of every stage.
Section collectives_section(const Estimate& estimate);
/// Parts of the model: time, kept bytes, parameters.
Section modules_section(const Estimate& estimate);
/// Kept tensors, dearest first.
Section tensors_section(const Estimate& estimate);

/// The ledger that the verdict is about; nullptr if the estimate has no memory rows.
const StageMemory* fullest(const Estimate& estimate);
/// The stage's row with the largest device use; nullptr if it has none.
const StageMemory* dearest_moment(const Estimate& estimate, int stage);

/// "yes: 150.2 of 184.0 GiB, margin 33.8 GiB", for summaries.
std::string verdict_text(const Verdict& verdict);

}  // namespace shardfit::report
