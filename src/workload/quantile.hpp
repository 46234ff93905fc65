// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace shardfit::workload {

/// Standard normal quantile at p in (0, 1) by Acklam's rational approximation (relative error below 1.2e-9).
double normal_quantile(double p);

}  // namespace shardfit::workload
