// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "topology/cluster.hpp"

namespace shardfit::topology {

/// Calls `visit(members)` for every whole group of `pattern` among `gpus` ranks, members ascending. The vector is
/// reused.
template <class Visit>
void for_each_group(RankPattern pattern, int gpus, Visit visit) {
  std::vector<int> members(std::size_t(pattern.size));
  const int reach = (pattern.size - 1) * pattern.stride;
  for (int block = 0; block + reach < gpus; block += pattern.size * pattern.stride)
    for (int first = block; first < block + pattern.stride && first + reach < gpus; ++first) {
      for (int i = 0; i < pattern.size; ++i) members[std::size_t(i)] = first + i * pattern.stride;
      visit(members);
    }
}

}  // namespace shardfit::topology
