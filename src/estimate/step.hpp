// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compute/optimizer_step.hpp"
#include "estimate/gradient_traffic.hpp"
#include "estimate/stage_load.hpp"

namespace shardfit::estimate {

/// A step's time by term; the total is the sum of the rows.
struct StepAccount {
  TimeLedger ledger;
  int slowest_stage = 0;
};

StepAccount step_account(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid);

/// What the optimizer of one rank of a stage works on.
compute::OptimizerLoad optimizer_load(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid,
                                      int stage);

/// Seconds that a step takes at least: its slowest stage without a pause, and the fixed overhead. Below step_account's total,
/// rounding included.
double step_floor(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid);

/// One way of one tensor across one pipeline boundary, s.
double boundary_transfer(Evaluation& e, const Layout& layout, const GridSizes& grid);

}  // namespace shardfit::estimate
