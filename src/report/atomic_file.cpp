// SPDX-License-Identifier: Apache-2.0
#include "report/atomic_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "shardfit/base/error.hpp"

namespace shardfit {
namespace fs = std::filesystem;

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path_, failed);
  if (fs::is_directory(status)) throw InputError(path, "", "a directory", "a file to write");
  const bool special = fs::exists(status) && !fs::is_regular_file(status);
  // A link keeps pointing where it points: the file behind it is replaced.
  if (fs::is_regular_file(status)) path_ = fs::canonical(path_).string();
  if (!special) beside_ = path_ + ".part" + std::to_string(::getpid());
  errno = 0;
  stream_.open(special ? path_ : beside_, std::ios::binary | std::ios::trunc);
  if (!stream_) throw InputError(path, "", errno ? std::strerror(errno) : "an error", "a file that can be written");
}

AtomicFile::~AtomicFile() {
  if (committed_ || beside_.empty()) return;
  stream_.close();
  std::error_code ignored;
  fs::remove(beside_, ignored);
}

void AtomicFile::commit() {
  errno = 0;
  stream_.close();
  if (!stream_) throw InputError(path_, "", errno ? std::strerror(errno) : "a write error", "room to write the file");
  if (!beside_.empty()) {
    std::error_code failed;
    fs::rename(beside_, path_, failed);
    if (failed) throw InputError(path_, "", failed.message(), "a file that can be replaced");
  }
  committed_ = true;
}

}  // namespace shardfit
