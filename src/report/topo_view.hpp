// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <optional>

#include "shardfit/layout/rank_grid.hpp"
#include "shardfit/report/document.hpp"
#include "topology/cluster.hpp"

namespace shardfit {

/// A layout's process groups on a cluster.
struct PlacedGroups {
  Layout layout;
  GridSizes grid;
  GroupShapes shapes;
  bool has_experts = true;  ///< the model has some: groups of the expert grid mean something
};

/// Sizes, links, how pairs of ranks are joined, and (with `groups`) what every process group of a layout sees and where it
/// lies.
Document topo_document(const HardwareSpec& hardware, const topology::Cluster& cluster,
                       const std::optional<PlacedGroups>& groups);

/// The cluster as a Graphviz graph: `dot -Tsvg`. Parallel edges of one kind between two vertices are one line.
void write_dot(const topology::GraphParts& parts, const std::string& name, std::ostream& out);

}  // namespace shardfit
