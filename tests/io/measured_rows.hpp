// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "files.hpp"
#include "io/load.hpp"

namespace shardfit::io_test {

using validation::MeasuredRun;

/// The measured runs that are carried here.
inline const std::string kMeasured = std::string(SHARDFIT_SOURCE_DIR) + "/tests/measured/";

/// The run of an id, which has to be there.
inline const MeasuredRun& find(const std::vector<MeasuredRun>& runs, const std::string& id) {
  const auto it = std::find_if(runs.begin(), runs.end(), [&](const MeasuredRun& r) { return r.id == id; });
  REQUIRE(it != runs.end());
  return *it;
}

/// Runs from the text of a file of rows, which is called measured_test_rows.json.
inline std::vector<MeasuredRun> read(const std::string& rows) {
  const std::string path = "measured_test_rows.json";
  std::ofstream(path) << rows;
  auto runs = io::load_measured(path);
  std::remove(path.c_str());
  return runs;
}

/// Whether an assumption of the run has these words.
inline bool told(const MeasuredRun& run, const std::string& words) {
  const auto& notes = run.scenario.assumptions;
  return std::any_of(notes.begin(), notes.end(),
                     [&](const std::string& note) { return note.find(words) != std::string::npos; });
}

}  // namespace shardfit::io_test
