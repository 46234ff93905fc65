// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/estimate/estimate.hpp"
#include "shardfit/report/document.hpp"

namespace shardfit::report {

/// The letters of the formulas with their values in this job and layout.
Section symbols_section(const Job& job, const Estimate& estimate);

}  // namespace shardfit::report
