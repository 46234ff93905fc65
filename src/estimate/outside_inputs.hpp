// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "estimate/evaluation.hpp"

namespace shardfit::estimate {

/// What a rank of the layout holds outside torch; valid until the next layout.
const memory::OutsideInputs& outside_inputs(const Problem& problem, Evaluation& evaluation, const Layout& layout,
                                            const GridSizes& grid);

}  // namespace shardfit::estimate
