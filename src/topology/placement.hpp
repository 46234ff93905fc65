// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/spec/hardware.hpp"
#include "topology/route.hpp"

namespace shardfit::topology {

/// Where ranks lie: they fill nodes, nodes fill domains, domains fill scalable units, all in order.
struct Placement {
  int gpus = 1;
  int gpus_per_node = 1, gpus_per_domain = 1;    ///< used ones; spare GPUs of a domain hold no rank
  int nodes_per_domain = 1, nodes_per_unit = 1;  ///< of a unit: those that hold ranks
  int units_per_pod = 0;                         ///< that the same spines join; 0: all
  int leaf_nodes = 1;                            ///< nodes that a leaf has ports and uplinks for, spare ones included

  int domain_of(int rank) const { return rank / gpus_per_domain; }
  int node_of(int rank) const { return domain_of(rank) * nodes_per_domain + (rank % gpus_per_domain) / gpus_per_node; }
  int rail_of(int rank) const { return (rank % gpus_per_domain) % gpus_per_node; }
  int unit_of(int rank) const { return node_of(rank) / nodes_per_unit; }
  int leaf_of(int rank) const { return unit_of(rank) * gpus_per_node + rail_of(rank); }
  int pod_of_unit(int unit) const { return units_per_pod > 0 ? unit / units_per_pod : 0; }
  int pod_of(int rank) const { return pod_of_unit(unit_of(rank)); }
  int domains() const { return domain_of(gpus - 1) + 1; }
  int nodes() const { return node_of(gpus - 1) + 1; }
  int units() const { return unit_of(gpus - 1) + 1; }
  int pods() const { return pod_of(gpus - 1) + 1; }
  int leaves() const { return units() * gpus_per_node; }

  /// How ranks `a` and `b` lie to each other.
  PairClass pair_class(int a, int b) const;
};

/// A job that fits one domain has one to itself (all of its GPUs, if need be); a larger one gets `placed_per_domain` of
/// each. A leaf takes no more nodes than it has ports, less the spare ones, and whole domains where one fits.
/// Throws InputError for sizes below one.
Placement place(const HardwareSpec& hardware, int gpus);

}  // namespace shardfit::topology
