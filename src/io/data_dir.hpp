// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "io/reader.hpp"

namespace shardfit::io {

/// Names of the .json files of one folder of the data directory, sorted.
std::vector<std::string> list_folder(const std::string& folder);

/// Whether a name means a file of its own: it has a folder, or ends in .json.
bool is_path(const std::string& name);

/// The file that a name means: a path as it is, else folder/name.json of the data directory. `asked` is where
/// the name stands, for the error with the nearest known name.
std::string find_data(const std::string& folder, const std::string& name, const Place& asked);

}  // namespace shardfit::io
