// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "estimate/evaluation.hpp"

namespace shardfit::estimate {

/// What decides weights, gradients and optimizer state of some parameters on a rank of the layout.
memory::StaticInputs static_inputs(const Problem& problem, const memory::ParamCounts& params, const Layout& layout,
                                   const GridSizes& grid);

/// The chunk whose micro-batch unwinds: the last at the loss, the first where backward reaches the embedding.
constexpr int unwinding_chunk(const Layout& layout, int stage) { return stage == 0 ? 0 : layout.vpp - 1; }

/// What of a stage neither recompute nor graphs change: made once a placement. Its `inputs` lack what stage_inputs fills in.
StageConstants& stage_constants(const Problem& problem, Evaluation& evaluation, const Layout& layout, const GridSizes& grid,
                                int stage);

}  // namespace shardfit::estimate
