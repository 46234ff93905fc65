// SPDX-License-Identifier: Apache-2.0
#include "cli/measured_files.hpp"

#include "io/load.hpp"
#include "validation/filter.hpp"

namespace shardfit::cli {

std::vector<validation::MeasuredRun> measured_runs(const std::vector<std::string>& files,
                                                   const std::vector<std::string>& where) {
  const std::vector<validation::Filter> filters(where.begin(), where.end());
  std::vector<validation::MeasuredRun> runs;
  for (const std::string& file : files)
    for (validation::MeasuredRun& run : io::load_measured(file)) runs.push_back(std::move(run));
  if (runs.empty())
    throw InputError(files.empty() ? "" : files.front(), files.empty() ? "FILE" : "", "an empty list", "at least one run");
  return validation::selected(std::move(runs), filters);
}

}  // namespace shardfit::cli
