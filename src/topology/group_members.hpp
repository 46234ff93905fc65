// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <vector>

#include "topology/cluster.hpp"

namespace shardfit::topology {

/// Calls `visit(members)` for every whole group of `pattern` among `gpus` ranks, members ascending. The vector is
/// reused.
template <class Visit>
void for_each_group(RankPattern pattern, int gpus, Visit visit) {
  assert(pattern.size > 0 && pattern.stride > 0);
  std::vector<int> members(std::size_t(pattern.size));
  const int run = pattern.run > 0 ? pattern.run : pattern.size, runs = pattern.size / run;
  const int period = runs > 1 ? pattern.jump : run * pattern.stride;
  const int reach = (run - 1) * pattern.stride + (runs - 1) * pattern.jump;
  for (int block = 0; block + reach < gpus; block += period * runs)
    for (int at = 0; at < period && block + at + reach < gpus; ++at) {
      if (at / pattern.stride % run != 0) continue;  // no first member
      for (int i = 0; i < pattern.size; ++i)
        members[std::size_t(i)] = block + at + i / run * pattern.jump + i % run * pattern.stride;
      visit(members);
    }
}

}  // namespace shardfit::topology
