// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/traffic_time.hpp"

namespace shardfit {

/// `n` GPUs of one NVLink domain; rates in GB/s a direction.
inline topology::GroupLinks one_domain(int n, double nvlink) {
  topology::GroupLinks g;
  g.size = g.members_per_domain = n;
  g.nvlink = gb_per_s(nvlink);
  g.network = g.network_alltoall = gb_per_s(50);
  g.nvlink_latency = microseconds(1.7);
  g.network_latency = microseconds(2.8);
  return g;
}

/// `domains` times `members` GPUs with a NIC each.
inline topology::GroupLinks across(int domains, int members, double nvlink, double nic) {
  topology::GroupLinks g = one_domain(domains * members, nvlink);
  g.domains = domains;
  g.members_per_domain = members;
  g.nodes = domains;
  g.network = g.network_alltoall = gb_per_s(nic);
  g.network_hops = 1;
  return g;
}

inline comm::Network network_of(GpuGeneration generation) {
  comm::Network n;
  n.generation = generation;
  return n;
}

}  // namespace shardfit
