// SPDX-License-Identifier: Apache-2.0
#include "topology/routes.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <boost/graph/dijkstra_shortest_paths.hpp>

namespace shardfit::topology {
namespace {

using Predecessors = std::vector<BoostGraph::vertex_descriptor>;

Predecessors shortest_paths_from(const BoostGraph& graph, int source) {
  Predecessors before(boost::num_vertices(graph));
  boost::dijkstra_shortest_paths(
      graph, BoostGraph::vertex_descriptor(source),
      boost::predecessor_map(boost::make_iterator_property_map(before.begin(), get(boost::vertex_index, graph)))
          .weight_map(get(&Link::route_cost, graph)));
  return before;
}

void narrow(Route& route, BytesPerSecond bandwidth) {
  route.bandwidth = route.bandwidth.value > 0 ? std::min(route.bandwidth, bandwidth) : bandwidth;
}

// A flow spreads over all spines, so that no single uplink is its narrowest; what uplinks carry together is counted
// where groups share them. It spreads over all NVSwitch planes too (over_planes).
void pass(const Link& link, Route& route) {
  route.latency += link.latency;
  if (link.kind == LinkKind::nvlink) ++route.nvlink_hops;
  if (link.kind == LinkKind::pcie || link.kind == LinkKind::rail) narrow(route, link.bandwidth);
}

/// What two GPUs of a domain can exchange: the sum over the planes that both hang on.
BytesPerSecond over_planes(const BoostGraph& graph, BoostGraph::vertex_descriptor a, BoostGraph::vertex_descriptor b) {
  double sum = 0;
  for (const auto to_plane : boost::make_iterator_range(boost::out_edges(a, graph))) {
    if (graph[to_plane].kind != LinkKind::nvlink) continue;
    const auto [from_plane, joined] = boost::edge(boost::target(to_plane, graph), b, graph);
    if (joined) sum += std::min(graph[to_plane].bandwidth, graph[from_plane].bandwidth).value;
  }
  return BytesPerSecond(sum);
}

Route walk_back(const BoostGraph& graph, const Predecessors& before, int from, int to) {
  Route route;
  route.exists = true;
  auto after = BoostGraph::vertex_descriptor(to);
  for (auto v = after; v != BoostGraph::vertex_descriptor(from); after = v, v = before[v]) {
    const VertexKind kind = graph[v].kind;
    route.network_switches += kind == VertexKind::leaf || kind == VertexKind::spine || kind == VertexKind::core;
    route.over_spine = route.over_spine || kind == VertexKind::spine;
    route.over_core = route.over_core || kind == VertexKind::core;
    if (kind == VertexKind::nvswitch) narrow(route, over_planes(graph, before[v], after));
    pass(graph[boost::edge(before[v], v, graph).first], route);
  }
  return route;
}

/// One route after the other.
Route joined(const Route& first, const Route& second) {
  Route route = second;
  route.exists = first.exists && second.exists;
  route.latency += first.latency;
  route.nvlink_hops += first.nvlink_hops;
  route.bandwidth = std::min(first.bandwidth, second.bandwidth);
  route.relayed = true;
  return route;
}

}  // namespace

RouteTable find_routes(const ClusterGraph& cluster, const Placement& placement) {
  RouteTable table{};
  table[PairClass::self].exists = true;
  for (const int source : {0, placement.gpus - 1}) {
    const Predecessors before = shortest_paths_from(cluster.graph, source);
    for (int rank = 0; rank < placement.gpus; ++rank) {
      Route& route = table[placement.pair_class(source, rank)];
      if (!route.exists) route = walk_back(cluster.graph, before, source, rank);
    }
  }
  // NCCL moves to the receiver's rail inside the node whether or not a spine could join the rails: it does not see
  // leaves.
  for (const auto& [other_rail, same_rail] : {std::pair{PairClass::same_unit_other_rail, PairClass::same_unit},
                                              std::pair{PairClass::other_unit_other_rail, PairClass::other_unit},
                                              std::pair{PairClass::other_pod_other_rail, PairClass::other_pod}})
    if (table[other_rail].exists) table[other_rail] = joined(table[PairClass::same_node], table[same_rail]);
  return table;
}

}  // namespace shardfit::topology
