// SPDX-License-Identifier: Apache-2.0
// Computes:   what a process group sees of the cluster: where its members lie, rates and latencies between them.
// Formula:    the worst group is the one over most domains (equal sizes: fewest neighbours). Rates: NVLink's sum over the
//             planes, which do not block (each has as many links as its GPUs); the NIC's times the share left by all groups
//             of the kind (sharing.cpp). Latency and switches: of the longest route from the group's first member to any
//             other.
// Source:     routes by Dijkstra on the graph (routes.cpp); links from the hardware file.
// Valid when: ranks fill nodes and domains in order.
// Ignores:    what other kinds of groups send at the same time.
// Checked by: tests/topology/group_links_test.cpp, hand-worked placements.
#include <algorithm>
#include <cassert>

#include "topology/group_members.hpp"
#include "topology/sharing.hpp"

namespace shardfit::topology {
namespace {

struct Spread {
  int domains = 0, nodes = 0, members_per_domain = 0;
};

Spread spread_of(const std::vector<int>& members, const Placement& p) {
  Spread s;
  int run = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const bool new_node = i == 0 || p.node_of(members[i]) != p.node_of(members[i - 1]);
    const bool new_domain = i == 0 || p.domain_of(members[i]) != p.domain_of(members[i - 1]);
    s.nodes += new_node;
    s.domains += new_domain;
    run = new_domain ? 1 : run + 1;
    s.members_per_domain = std::max(s.members_per_domain, run);
  }
  return s;
}

bool worse(const Spread& a, const Spread& b) {
  if (a.domains != b.domains) return a.domains > b.domains;
  if (a.nodes != b.nodes) return a.nodes > b.nodes;
  return a.members_per_domain < b.members_per_domain;
}

const Route& longest_route(const std::vector<int>& members, const Placement& p, const RouteTable& routes) {
  const Route* longest = &routes[PairClass::self];
  for (const int m : members) {
    const Route& route = routes[p.pair_class(members.front(), m)];
    if (route.latency > longest->latency) longest = &route;
  }
  return *longest;
}

/// Of two GPUs of a domain on the graph; a cluster without such a pair keeps the figure of the file.
BytesPerSecond nvlink_rate(const FabricSpec& fabric, const RouteTable& routes) {
  for (const PairClass pair : {PairClass::same_node, PairClass::same_domain})
    if (routes[pair].exists) return routes[pair].bandwidth;
  return gb_per_s(fabric.nvlink_gb_per_s.value);
}

}  // namespace

GroupLinks group_links(RankPattern pattern, const FabricSpec& fabric, const Placement& p, const RouteTable& routes) {
  GroupLinks out;
  out.size = pattern.size;
  out.nvlink = nvlink_rate(fabric, routes);
  out.nvlink_latency = microseconds(fabric.nvlink_latency_us.value);
  out.network = gb_per_s(fabric.nic_gb_per_s.value);
  out.network_alltoall = gb_per_s(fabric.nic_alltoall_gb_per_s.value);
  out.network_dispatch = gb_per_s(fabric.nic_dispatch_gb_per_s.value);
  out.network_latency = microseconds(fabric.nic_latency_us.value);
  if (pattern.size == 1) return out;

  Spread worst;
  Seconds longest;
  for_each_group(pattern, p.gpus, [&](const std::vector<int>& members) {
    const Spread s = spread_of(members, p);
    if (worse(s, worst)) worst = s;
    const Route& route = longest_route(members, p, routes);
    out.network_hops = std::max(out.network_hops, route.network_switches);
    longest = std::max(longest, route.latency);
  });
  assert(worst.domains > 0 && "a group larger than the cluster");
  out.domains = worst.domains;
  out.nodes = worst.nodes;
  out.members_per_domain = worst.members_per_domain;
  if (worst.domains == 1) return out;

  const NetworkShares shares = network_shares(pattern, fabric, p, routes);
  out.network = out.network * shares.ring.rate;
  out.network_alltoall = out.network_alltoall * shares.all_to_all.rate;
  out.network_dispatch = out.network_dispatch * shares.all_to_all.rate;
  out.bound_by = shares.ring.by;
  out.bound_by_alltoall = shares.all_to_all.by;
  out.network_latency = longest;
  return out;
}

}  // namespace shardfit::topology
