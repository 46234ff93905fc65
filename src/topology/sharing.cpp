// SPDX-License-Identifier: Apache-2.0
// Computes:   the part of the NIC rate that a flow keeps when all groups of a kind communicate at once.
// Formula:    a ring crosses domains member by member: the k-th member in a domain sends to the k-th in the next, through
//             its own NIC, or through that of the neighbour on the receiver's rail where the route is relayed. An
//             all-to-all sends evenly to all members elsewhere. share = min over NICs, leaf uplinks and uplinks of a pod
//             (and downlinks) of capacity / load, at most 1; a leaf's uplinks carry leaf_nodes / oversubscription NIC rates
//             together, a pod's what its leaves' carry / the core's oversubscription.
// Source:     NCCL's ring construction over NICs and PXN (src/graph/search.cc, src/transport/net.cc) as behaviour.
// Valid when: traffic spreads evenly over spines and core switches (adaptive routing), no switch blocks.
// Ignores:    other groups' traffic at the same time, a job's neighbours on the fabric.
// Checked by: tests/topology/sharing_test.cpp by hand-counted flows.
#include "topology/sharing.hpp"

#include <algorithm>
#include <vector>

#include "topology/group_members.hpp"

namespace shardfit::topology {
namespace {

/// Flows of one NIC rate on every NIC and on the up and down side of every leaf and pod.
struct Loads {
  explicit Loads(const Placement& p)
      : nic_out(std::size_t(p.nodes() * p.gpus_per_node)),
        nic_in(nic_out.size()),
        leaf_up(std::size_t(p.leaves())),
        leaf_down(leaf_up.size()),
        pod_up(std::size_t(p.pods())),
        pod_down(pod_up.size()) {}
  std::vector<double> nic_out, nic_in, leaf_up, leaf_down, pod_up, pod_down;
};

/// NIC rates that the uplinks of a leaf, and of a pod, carry together.
struct Capacity {
  double leaf = 1, pod = 1;
};

Capacity capacity_of(const FabricSpec& fabric, const Placement& p) {
  const double leaf = p.leaf_nodes / fabric.oversubscription.value;
  return {leaf, leaf * p.units_per_pod * p.gpus_per_node / fabric.core.oversubscription.value};
}

double highest(const std::vector<double>& loads) { return *std::max_element(loads.begin(), loads.end()); }

/// What a link of `capacity` leaves of each of `load` flows.
double part(double capacity, double load) { return load > capacity ? capacity / load : 1.0; }

NetworkShare worst_share(const Loads& loads, const Capacity& capacity) {
  NetworkShare share{part(1, std::max(highest(loads.nic_out), highest(loads.nic_in))), SharedLink::none};
  const double by_leaf = part(capacity.leaf, std::max(highest(loads.leaf_up), highest(loads.leaf_down)));
  const double by_pod = part(capacity.pod, std::max(highest(loads.pod_up), highest(loads.pod_down)));
  if (by_leaf < share.rate) share = {by_leaf, SharedLink::leaf_uplink};
  if (by_pod < share.rate) share = {by_pod, SharedLink::core_uplink};
  return share;
}

void add_flow(int from, int to, const Placement& p, const RouteTable& routes, Loads& loads) {
  const Route& route = routes[p.pair_class(from, to)];
  const int rail_out = route.relayed ? p.rail_of(to) : p.rail_of(from);
  loads.nic_out[std::size_t(p.node_of(from) * p.gpus_per_node + rail_out)] += 1;
  loads.nic_in[std::size_t(p.node_of(to) * p.gpus_per_node + p.rail_of(to))] += 1;
  if (!route.over_spine) return;
  loads.leaf_up[std::size_t(p.unit_of(from) * p.gpus_per_node + rail_out)] += 1;
  loads.leaf_down[std::size_t(p.leaf_of(to))] += 1;
  if (!route.over_core) return;
  loads.pod_up[std::size_t(p.pod_of(from))] += 1;
  loads.pod_down[std::size_t(p.pod_of(to))] += 1;
}

/// Positions in `members` where a new domain begins, and the end.
void domain_starts(const std::vector<int>& members, const Placement& p, std::vector<std::size_t>& starts) {
  starts.clear();
  for (std::size_t i = 0; i < members.size(); ++i)
    if (i == 0 || p.domain_of(members[i]) != p.domain_of(members[i - 1])) starts.push_back(i);
  starts.push_back(members.size());
}

void add_ring(const std::vector<int>& members, const std::vector<std::size_t>& starts, const Placement& p,
              const RouteTable& routes, Loads& loads) {
  const std::size_t domains = starts.size() - 1;
  for (std::size_t d = 0; d < domains; ++d) {
    const std::size_t next = (d + 1) % domains, next_size = starts[next + 1] - starts[next];
    for (std::size_t i = starts[d]; i < starts[d + 1]; ++i)
      add_flow(members[i], members[starts[next] + (i - starts[d]) % next_size], p, routes, loads);
  }
}

/// Members of a group by unit and by pod.
struct Census {
  explicit Census(const Placement& p) : in_unit(std::size_t(p.units())), in_pod(std::size_t(p.pods())) {}
  void count(const std::vector<int>& members, const Placement& p, double each) {
    for (const int m : members) in_unit[std::size_t(p.unit_of(m))] += each, in_pod[std::size_t(p.pod_of(m))] += each;
  }
  std::vector<double> in_unit, in_pod;
};

void add_all_to_all(const std::vector<int>& members, const std::vector<std::size_t>& starts, const Placement& p, Census& census,
                    Loads& loads) {
  census.count(members, p, 1);
  const double all = double(members.size());
  for (std::size_t d = 0; d + 1 < starts.size(); ++d) {
    const double elsewhere = all - double(starts[d + 1] - starts[d]);
    for (std::size_t i = starts[d]; i < starts[d + 1]; ++i) {
      const int unit = p.unit_of(members[i]), pod = p.pod_of_unit(unit);
      loads.leaf_up[std::size_t(p.leaf_of(members[i]))] += (all - census.in_unit[std::size_t(unit)]) / elsewhere;
      loads.pod_up[std::size_t(pod)] += (all - census.in_pod[std::size_t(pod)]) / elsewhere;
    }
  }
  census.count(members, p, -1);
}

}  // namespace

NetworkShares network_shares(RankPattern pattern, const FabricSpec& fabric, const Placement& p, const RouteTable& routes) {
  Loads ring(p), all_to_all(p);
  std::vector<std::size_t> starts;
  Census census(p);
  for_each_group(pattern, p.gpus, [&](const std::vector<int>& members) {
    domain_starts(members, p, starts);
    if (starts.size() <= 2) return;  // one domain: nothing crosses
    add_ring(members, starts, p, routes, ring);
    add_all_to_all(members, starts, p, census, all_to_all);
  });
  const Capacity capacity = capacity_of(fabric, p);
  return {worst_share(ring, capacity), worst_share(all_to_all, capacity)};
}

}  // namespace shardfit::topology
