// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <boost/graph/adjacency_list.hpp>

#include "shardfit/spec/hardware.hpp"
#include "topology/graph_parts.hpp"
#include "topology/placement.hpp"

namespace shardfit::topology {

/// What the graph keeps of a link.
struct Link {
  LinkKind kind = LinkKind::nvlink;
  BytesPerSecond bandwidth;
  Seconds latency;
  double route_cost = 0;  ///< latency, s; prohibitive for host links, which carry no traffic between GPUs
};

using BoostGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, Vertex, Link>;

/// The graph, and where the vertices of each kind begin in it (they are numbered kind by kind, GPU r being vertex r).
struct ClusterGraph {
  BoostGraph graph;
  EnumArray<VertexKind, int> first{};
};

/// GPUs, an NVSwitch vertex for every plane in service of a domain, one CPU vertex a node, one NIC a GPU, one leaf a rail
/// and scalable unit, spines that every leaf of the pod reaches, core switches that every spine reaches. Uplinks of a leaf
/// together carry its downlinks over the oversubscription, those of a spine likewise.
/// Ignores: several leaf switches behind one rail, links of spare GPUs.
ClusterGraph build_graph(const HardwareSpec& hardware, const Placement& placement);

}  // namespace shardfit::topology
