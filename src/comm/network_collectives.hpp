// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/nccl_constants.hpp"
#include "topology/group_links.hpp"

namespace shardfit::comm {

/// A collective over several NVLink domains; rates in bytes/us, times in us.
struct AcrossDomains {
  int ranks = 1, members = 1, domains = 1;  ///< members: of a domain
  double nvlink = 0, network = 0, network_alltoall = 0;
  double network_latency = 0;
  GpuGeneration generation = GpuGeneration::hopper;
  bool sharp = false;  ///< switches of the network reduce
};

/// One step of Simple over the network, proxies included, on a route of `latency_us`.
inline double network_step_us(double latency_us) { return kProxyHop + latency_us; }

double all_reduce_us(double bytes, const AcrossDomains& a);
double gather_or_scatter_us(double bytes, const AcrossDomains& a);
double broadcast_us(double bytes, const AcrossDomains& a);
double all_to_all_us(double bytes, const AcrossDomains& a);
double send_us(double bytes, const AcrossDomains& a);

}  // namespace shardfit::comm
