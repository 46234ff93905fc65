// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "topology/cluster.hpp"
#include "topology/placement.hpp"
#include "topology/routes.hpp"

namespace shardfit::topology {

/// What the groups of `pattern` see: shape and routes of the worst group, bandwidth after all groups of the kind have
/// loaded the NICs and the uplinks of the leaves. See group_links.cpp for what they carry.
GroupLinks group_links(RankPattern pattern, const FabricSpec& fabric, const Placement& placement, const RouteTable& routes);

/// Part of the NIC rate that each flow keeps, (0, 1], and which uplinks leave less than the NICs do.
struct NetworkShare {
  double rate = 1;
  SharedLink by = SharedLink::none;
};
struct NetworkShares {
  NetworkShare ring, all_to_all;
};

/// Loads of all groups of `pattern` together. Exposed for tests.
NetworkShares network_shares(RankPattern pattern, const FabricSpec& fabric, const Placement& placement,
                             const RouteTable& routes);

}  // namespace shardfit::topology
