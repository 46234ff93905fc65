// SPDX-License-Identifier: Apache-2.0
#include "io/data_dir.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "io/load.hpp"
#include "shardfit/base/error.hpp"
#include "shardfit/base/names.hpp"

namespace shardfit::io {
namespace {

namespace fs = std::filesystem;

bool holds_data(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_directory(folder / "models", ignored) && fs::is_directory(folder / "hardware", ignored);
}

/// The folder of the running program; empty where the system does not say.
fs::path program_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : program.parent_path();
}

}  // namespace

std::string data_dir() {
  if (const char* set = std::getenv("SHARDFIT_DATA_DIR"); set != nullptr && *set != '\0') return set;
  if (const fs::path here = program_folder(); !here.empty()) {
    if (holds_data(here)) return here.string();
    if (const fs::path shared = here.parent_path() / "share" / "shardfit"; holds_data(shared)) return shared.string();
  }
  return SHARDFIT_DATA_DIR;
}

bool is_path(const std::string& name) { return name.find('/') != std::string::npos || name.ends_with(".json"); }

std::vector<std::string> list_folder(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fs::path(data_dir()) / folder, error))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string find_data(const std::string& folder, const std::string& name, const Place& asked) {
  if (is_path(name)) return name;
  const fs::path path = fs::path(data_dir()) / folder / (name + ".json");
  std::error_code ignored;
  if (!name.empty() && fs::is_regular_file(path, ignored)) return path.string();
  const std::vector<std::string> names = list_folder(folder);
  const std::vector<std::string_view> words(names.begin(), names.end());
  const auto near = nearest_name(name, words);
  throw InputError(asked.file, asked.pointer, "\"" + name + "\"", "a name in " + folder + "/ or a path that ends in .json",
                   near ? "did you mean \"" + *near + "\"?" : "");
}

}  // namespace shardfit::io
