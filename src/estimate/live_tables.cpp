// SPDX-License-Identifier: Apache-2.0
#include "estimate/live_tables.hpp"

#include <algorithm>

namespace shardfit::estimate {

bool LiveTables::shed() {
  // A table is a few hundred bytes. (assumed: far more than the stages of one placement, a few MB)
  constexpr std::size_t kMostTables = 1 << 14;
  if (tables_.size() < kMostTables) return false;
  tables_.clear();
  return true;
}

const std::vector<std::vector<int>>& LiveTables::at(const schedule::PipelineShape& s, int stage) {
  // Beyond two full turns of the warm-up the steady state repeats: more micro-batches change nothing.
  const int enough = (s.pp + 2 * s.group) * 2;
  schedule::PipelineShape shape = s;
  if (shape.microbatches > enough) shape.microbatches = enough + (shape.microbatches - enough) % std::max(1, s.group);
  const Key key{shape.pp, shape.vpp, shape.microbatches, shape.group, shape.expert_overlap, stage};
  const auto found = tables_.find(key);
  if (found != tables_.end()) return found->second;
  return tables_.emplace(key, schedule::live_chunks(shape, stage)).first->second;
}

schedule::PipelineShape pipeline_shape(const Layout& layout, const GridSizes& grid) {
  return {.pp = layout.pp,
          .vpp = layout.vpp,
          .microbatches = grid.microbatches,
          .group = layout.microbatch_group_size > 0 ? layout.microbatch_group_size : layout.pp,
          .expert_overlap = layout.overlap.expert_alltoall};
}

}  // namespace shardfit::estimate
