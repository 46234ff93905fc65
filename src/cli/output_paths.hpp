// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace shardfit::cli {

/// A file that a call names, and what it names it with: a flag, or "scenario".
struct NamedPath {
  const char* named_by;
  std::string path;  ///< empty: not given
};

/// Throws InputError, before any work, where a result would replace a file that is read, or two results are one file. A name
/// of a scenario that ships is no path; devices (/dev/null) take any number of results.
void keep_apart(const std::vector<NamedPath>& read, const std::vector<NamedPath>& written);

}  // namespace shardfit::cli
