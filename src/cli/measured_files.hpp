// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "validation/measured_run.hpp"

namespace shardfit::cli {

/// The runs of the files that meet all `--where` conditions. Throws InputError for a file that cannot be read, for files
/// without a run, and where no run meets the conditions.
std::vector<validation::MeasuredRun> measured_runs(const std::vector<std::string>& files,
                                                   const std::vector<std::string>& where);

}  // namespace shardfit::cli
