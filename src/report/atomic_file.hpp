// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <string>

namespace shardfit {

/// A file that appears whole or not at all: written beside its place and renamed into it by `commit`. Opened at
/// construction, so that a path that cannot be written fails before hours of work; dropped unless committed.
/// Devices and pipes (/dev/stdout) are written directly. Throws InputError where the path cannot be written.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  std::ostream& stream() { return stream_; }
  /// Flushes and renames. Throws InputError if anything failed to be written (disk full).
  void commit();

 private:
  std::string path_, beside_;  // beside_ is empty where the target is written directly
  std::ofstream stream_;
  bool committed_ = false;
};

}  // namespace shardfit
