// SPDX-License-Identifier: Apache-2.0
#include "topology/cluster.hpp"

#include <algorithm>

#include "topology/cluster_graph.hpp"
#include "topology/placement.hpp"
#include "topology/routes.hpp"
#include "topology/sharing.hpp"

namespace shardfit::topology {

struct Cluster::Graph {
  Graph(const HardwareSpec& hardware, int gpus)
      : fabric(hardware.fabric),
        placement(place(hardware, gpus)),
        cluster(build_graph(hardware, placement)),
        routes(find_routes(cluster, placement)) {}

  FabricSpec fabric;
  Placement placement;
  ClusterGraph cluster;
  RouteTable routes;
};

Cluster::Cluster(const HardwareSpec& hardware, int gpus) : graph_(std::make_unique<Graph>(hardware, gpus)) {}
Cluster::~Cluster() = default;
Cluster::Cluster(Cluster&&) noexcept = default;
Cluster& Cluster::operator=(Cluster&&) noexcept = default;

int Cluster::gpus() const { return graph_->placement.gpus; }
int Cluster::domain_of(int rank) const { return graph_->placement.domain_of(rank); }
int Cluster::node_of(int rank) const { return graph_->placement.node_of(rank); }

PairClass Cluster::pair_class(int from, int to) const { return graph_->placement.pair_class(from, to); }
const Route& Cluster::route(int from, int to) const& { return graph_->routes[pair_class(from, to)]; }

GroupLinks Cluster::links(RankPattern pattern) const {
  return group_links(pattern, graph_->fabric, graph_->placement, graph_->routes);
}

GraphParts Cluster::parts() const {
  const BoostGraph& g = graph_->cluster.graph;
  GraphParts out;
  for (const auto v : boost::make_iterator_range(boost::vertices(g))) out.vertices.push_back(g[v]);
  for (const auto e : boost::make_iterator_range(boost::edges(g)))
    out.edges.push_back({int(boost::source(e, g)), int(boost::target(e, g)), g[e].kind, g[e].bandwidth, g[e].latency});
  return out;
}

LinkMatrix Cluster::link_matrix() const {
  const Placement& p = graph_->placement;
  LinkMatrix m;
  EnumSet<PairClass> seen{PairClass::self, PairClass::same_node};
  for (int rank = 0; rank < p.gpus; ++rank) {
    const PairClass to_first = p.pair_class(0, rank);
    if (p.node_of(rank) == 0 || !seen.contains(to_first)) m.ranks.push_back(rank);
    seen.insert(to_first);
  }
  for (const int a : m.ranks) {
    std::vector<PairClass>& row = m.pairs.emplace_back();
    for (const int b : m.ranks) row.push_back(p.pair_class(a, b));
  }
  return m;
}

}  // namespace shardfit::topology
