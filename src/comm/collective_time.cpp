// SPDX-License-Identifier: Apache-2.0
// Computes:   time of one collective call on the links of its group, as if nothing else ran.
// Formula:    nvlink_collectives.cpp where the group lies in one NVLink domain, else network_collectives.cpp.
// Source:     there.
// Valid when: the group's worst member decides; ranks enter at the same time.
// Ignores:    skew between ranks, contention with other kinds of groups.
// Checked by: tests/comm/collective_laws_test.cpp, nccl_points_test.cpp, network_points_test.cpp.
#include <algorithm>
#include <cassert>

#include "comm/network_collectives.hpp"
#include "comm/nvlink_collectives.hpp"
#include "comm/traffic_time.hpp"

namespace shardfit::comm {
namespace {

using block::CollectiveKind;

constexpr double kUs = 1e-6;

double in_domain_us(CollectiveKind kind, double bytes, const InDomain& in) {
  switch (kind) {
    case CollectiveKind::all_reduce: return ring_collective_us(bytes, 2, in);
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter: return ring_collective_us(bytes, 1, in);
    case CollectiveKind::broadcast: return broadcast_us(bytes, in);
    case CollectiveKind::send_recv: return send_us(bytes, in);
    default: return all_to_all_us(bytes, in);
  }
}

double across_domains_us(CollectiveKind kind, double bytes, const AcrossDomains& a) {
  switch (kind) {
    case CollectiveKind::all_reduce: return all_reduce_us(bytes, a);
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter: return gather_or_scatter_us(bytes, a);
    case CollectiveKind::broadcast: return broadcast_us(bytes, a);
    case CollectiveKind::send_recv: return send_us(bytes, a);
    default: return all_to_all_us(bytes, a);
  }
}

}  // namespace

double collective_time(CollectiveKind kind, double bytes, const GroupLinks& links, const Network& network) noexcept {
  assert(kind < CollectiveKind::dispatch && "expert tokens: dispatch_time");
  if (links.size <= 1 || bytes <= 0) return 0;
  if (links.domains <= 1) return kUs * in_domain_us(kind, bytes, {links.size, links.nvlink.value * kUs, network.generation});
  AcrossDomains a;
  a.ranks = links.size;
  a.members = std::clamp(links.members_per_domain, 1, links.size);
  a.domains = links.domains;
  a.nvlink = links.nvlink.value * kUs;
  a.network = links.network.value * kUs;
  a.network_alltoall = links.network_alltoall.value * kUs;
  a.network_latency = in_us(links.network_latency);
  a.generation = network.generation;
  a.sharp = network.sharp;
  return kUs * across_domains_us(kind, bytes, a);
}

}  // namespace shardfit::comm
