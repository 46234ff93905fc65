// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "io/read_training.hpp"
#include "shardfit/spec/scenario.hpp"

namespace shardfit::io {

/// How to read a run: a scenario of a user, or a row of measured runs.
struct RunRules {
  Missing missing = Missing::refuse;
  std::string stack = "megatron-bridge-2026-08";  ///< the profile where the run names none
};

/// A run of the schema: model, hardware, gpus, training, layout, stack, assumed, and search. Keys that
/// describe the run and compute nothing are allowed; `measured` too.
Scenario read_run(const Value& value, const RunRules& rules);

}  // namespace shardfit::io
