// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/spec/training.hpp"

namespace shardfit::workload {

/// Rows on the busiest rank's experts over the mean, for time: 1 when routing is forced balanced or rows are dropped to
/// capacity; the stated `routing_imbalance`; else 1.25 (assumed: between the 1.1 to 1.35 that measured memory growth of
/// naturally routed runs shows, and the 1.2 that step times of such runs want).
double expert_load(const TrainingSpec& training);

}  // namespace shardfit::workload
