// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "shardfit/search/goals.hpp"

namespace CLI {
class App;
}

namespace shardfit::cli {

/// What the command line says about goals; unset members leave the scenario's.
struct GoalFlags {
  std::string objective, base;
  std::vector<std::string> pareto, usd_per_gpu_hour, watts_per_gpu;
  double train_tokens = 0, min_memory_headroom_pct = -1, max_host_gib = -1;
  Limits most;  ///< GPUs and sizes of axes; 0: unset
};

void add_goal_flags(CLI::App& command, GoalFlags& flags);

/// `goals` with what the flags say. Throws InputError for words that cannot be read.
Goals goals_with(Goals goals, const GoalFlags& flags);

}  // namespace shardfit::cli
