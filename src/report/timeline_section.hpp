// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "shardfit/estimate/estimate.hpp"
#include "shardfit/report/document.hpp"

namespace shardfit::report {

/// The step's micro-batches as an event replay of the schedule has them: a line a stage, and every pass (for data files).
std::vector<Section> timeline_sections(const Estimate& estimate);

}  // namespace shardfit::report
