// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/load_study.hpp"

namespace CLI {
class App;
}

namespace shardfit::cli {

/// Adds --hardware, --gpus, --precision and --set, which win over the scenario's. `lists`: each may take several values.
void add_job_flags(CLI::App& command, io::JobChoice& choice, bool lists);

}  // namespace shardfit::cli
