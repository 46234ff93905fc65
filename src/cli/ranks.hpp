// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace shardfit::cli {

/// The processes that an MPI launcher has started together; one, without MPI or without a launcher. At most one object of
/// it exists in a process, because MPI starts and ends once.
class Ranks {
 public:
  Ranks();
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// The texts of all processes, in the order of ranks, on rank 0; nothing on others. All processes call it.
  std::vector<std::string> gather(const std::string& mine) const;

 private:
  int rank_ = 0, size_ = 1;
  bool started_ = false;
};

}  // namespace shardfit::cli
