// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "estimate/evaluation.hpp"

namespace shardfit::estimate {

/// The stage's bytes as plain inputs of memory::stage_memory; valid until the next call with the same evaluation.
const memory::StageInputs& stage_inputs(const Problem& problem, Evaluation& evaluation, const Layout& layout,
                                        const GridSizes& grid, int stage);

/// Live micro-batches of the stage: looked up once a placement, with and without expert overlap.
LiveCounts& live_counts(const Problem& problem, Evaluation& evaluation, const Layout& layout, const GridSizes& grid, int stage);

/// What the stage holds, kept while recompute stays; beside it, `graphs` in the stage's inputs (StageConstants) is that of the
/// layout, the rest of them may be another's.
const StageHoldings& stage_holdings(const Problem& problem, Evaluation& evaluation, const Layout& layout, const GridSizes& grid,
                                    int stage);

}  // namespace shardfit::estimate
