// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "estimate/evaluation.hpp"

namespace shardfit::estimate {

/// The stage's bytes as plain inputs of memory::stage_memory; valid until the next call with the same evaluation.
const memory::StageInputs& stage_inputs(const Problem& problem, Evaluation& evaluation, const Layout& layout,
                                        const GridSizes& grid, int stage);

}  // namespace shardfit::estimate
