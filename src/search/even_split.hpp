// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/spec/scenario.hpp"

namespace shardfit::search {

/// The split of the search whose stages hold the most equal numbers of layers, with the layout's other axes as they are and
/// the rules kept: where a run starts that cannot share its layers evenly. The layout's own, if no split passes.
PipelineSplit most_even_split(const Scenario& scenario, Layout layout);

}  // namespace shardfit::search
