// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "estimate/parts.hpp"

namespace shardfit::estimate {

/// Graphs that need more than a limit on the placement and recompute at hand: more graphs need no less, since all that
/// they do to memory is to add static inputs and pools. A graph of the whole iteration is another matter: it changes
/// operations.
class GraphsTooMuch {
 public:
  void clear() { known_.clear(); }
  /// Whether a layout with no more graphs than `layout` was found to need more than `limit`.
  bool covers(const Layout& layout, Bytes limit);
  /// Of the layout and the limit last asked about: it needs more.
  void add(const Layout& layout);

 private:
  struct Known {
    CudaGraph graph;
    bool expert_overlap;
  };
  CostKey key_;  ///< without graphs
  int offloaded_layers_ = 0;
  Bytes limit_;
  std::vector<Known> known_;
};

}  // namespace shardfit::estimate
