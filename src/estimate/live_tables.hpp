// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "schedule/live_chunks.hpp"
#include "shardfit/layout/rank_grid.hpp"

namespace shardfit::estimate {

/// Live-chunk tables by pipeline shape: filled once a shape, shared by every layout that has it.
class LiveTables {
 public:
  const std::vector<std::vector<int>>& at(const schedule::PipelineShape& shape, int stage);
  /// Forgets all tables if there are very many; true if it did.
  bool shed();

 private:
  using Key = std::tuple<int, int, int, int, bool, int>;
  std::map<Key, std::vector<std::vector<int>>> tables_;
};

/// The pipeline of a layout as its schedule sees it.
schedule::PipelineShape pipeline_shape(const Layout& layout, const GridSizes& grid);

}  // namespace shardfit::estimate
