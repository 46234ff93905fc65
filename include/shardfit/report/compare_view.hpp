// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/report/document.hpp"
#include "shardfit/search/compare.hpp"

namespace shardfit {

/// Both families side by side: their first and best layouts, what tuning took, one step off, other jobs, and a verdict.
Document compare_document(const Scenario& scenario, const Comparison& comparison);

}  // namespace shardfit
