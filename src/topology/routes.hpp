// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "topology/cluster_graph.hpp"
#include "topology/route.hpp"

namespace shardfit::topology {

/// The quickest route of each pair class that the cluster has.
using RouteTable = EnumArray<PairClass, Route>;

/// Dijkstra by latency from the first and from the last rank: between them they see a pair of every class, because only
/// the last node, domain and unit can be short of members. To another rail: first over NVLink to the neighbour on the
/// receiver's rail, then from there (NCCL's PXN, src/graph/topo.cc:ncclTopoGetNetDev).
RouteTable find_routes(const ClusterGraph& cluster, const Placement& placement);

}  // namespace shardfit::topology
