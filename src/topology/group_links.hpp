// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/base/units.hpp"

namespace shardfit::topology {

/// Links above the NICs that groups share, where they leave less than the NICs carry.
enum class SharedLink { none, leaf_uplink, core_uplink };

/// What a process group sees of the cluster: the worst over all groups of its kind, all of them active at once.
struct GroupLinks {
  int size = 1;                     ///< ranks in the group
  int members_per_domain = 1;       ///< most members that share an NVLink domain
  int domains = 1;                  ///< NVLink domains spanned
  int nodes = 1;                    ///< OS nodes spanned
  BytesPerSecond nvlink;            ///< per rank and direction inside the domain, over all NVSwitch planes in service
  BytesPerSecond network;           ///< per rank and direction to another domain, shared links counted
  BytesPerSecond network_alltoall;  ///< the same for all-to-all patterns
  BytesPerSecond network_dispatch;  ///< the same for expert tokens; 0: as all-to-all
  BytesPerSecond dispatch_rate() const { return network_dispatch.value > 0 ? network_dispatch : network_alltoall; }
  Seconds nvlink_latency, network_latency;  ///< one hop; network: over the leaf/spine hops that the group needs
  /// What sets the network rates: NICs, or these
  SharedLink bound_by = SharedLink::none, bound_by_alltoall = SharedLink::none;
  int network_hops = 0;  ///< switches between the farthest members; 0: none
};

}  // namespace shardfit::topology
