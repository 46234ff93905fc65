// SPDX-License-Identifier: Apache-2.0
#include "cli/output_paths.hpp"

#include <filesystem>

#include "shardfit/base/error.hpp"

namespace shardfit::cli {
namespace {

namespace fs = std::filesystem;

/// Empty for a device, which nothing replaces.
fs::path file_behind(const std::string& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (fs::exists(status) && !fs::is_regular_file(status)) return {};
  const fs::path whole = fs::weakly_canonical(fs::absolute(path, failed), failed);
  return failed ? fs::path(path) : whole;
}

bool same_file(const NamedPath& a, const NamedPath& b) {
  if (a.path.empty() || b.path.empty()) return false;
  const fs::path file = file_behind(a.path);
  return !file.empty() && file == file_behind(b.path);
}

}  // namespace

void keep_apart(const std::vector<NamedPath>& read, const std::vector<NamedPath>& written) {
  for (std::size_t i = 0; i < written.size(); ++i) {
    for (const NamedPath& input : read)
      if (same_file(written[i], input))
        throw InputError("", written[i].named_by, "'" + written[i].path + "', which is read as " + input.named_by,
                         "a file of its own for what is written");
    for (std::size_t k = 0; k < i; ++k)
      if (same_file(written[i], written[k]))
        throw InputError("", written[i].named_by, "'" + written[i].path + "', as " + written[k].named_by,
                         "a file for each result");
  }
}

}  // namespace shardfit::cli
