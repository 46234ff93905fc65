// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "io/read_training.hpp"
#include "shardfit/spec/scenario.hpp"

namespace shardfit::io {

inline constexpr int kMostGpus = 1'000'000;  ///< ten times the largest cluster

/// How to read a run: a scenario of a user, or a row of measured runs.
struct RunRules {
  Missing missing = Missing::refuse;
  std::string stack = "megatron-bridge-2026-08";  ///< the profile where the run names none
  int largest_gpus = 0;  ///< of the jobs that the search is for: what a size on an axis may be, where above the run's own
};

/// A run of the schema: model, hardware, gpus, training, layout, stack, assumed, and search. Keys that
/// describe the run and compute nothing are allowed; `measured` too.
Scenario read_run(const Value& value, const RunRules& rules);

}  // namespace shardfit::io
