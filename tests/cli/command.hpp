// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "cli/cli.hpp"

// Runs the program in this process, as a shell would.

inline const std::string kSmall = std::string(SHARDFIT_SOURCE_DIR) + "/tests/data/small-sweep.json";

struct Ran {
  int code = 0;
  std::string out, err;
};

inline Ran run(const std::vector<std::string>& args, const std::atomic<bool>* stop = nullptr) {
  ::setenv("SHARDFIT_DATA_DIR", SHARDFIT_SOURCE_DIR, 1);
  std::ostringstream out, err;
  Ran ran;
  ran.code = shardfit::cli::run(args, out, err, stop);
  ran.out = out.str();
  ran.err = err.str();
  return ran;
}

/// A folder for files of one test case, gone with it.
struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("shardfit_cli_" + std::to_string(::getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name) const { return (path / name).string(); }
};
