// SPDX-License-Identifier: Apache-2.0
#include "workload/routing.hpp"

namespace shardfit::workload {
namespace {
constexpr double kNaturalRoutingLoad = 1.25;  // assumed; see routing.hpp
}

double expert_load(const TrainingSpec& training) {
  if (training.routing_imbalance > 0) return training.routing_imbalance;
  if (training.routing == Routing::balanced || (training.token_drop && training.pad_to_capacity)) return 1;
  return kNaturalRoutingLoad;
}

}  // namespace shardfit::workload
