// SPDX-License-Identifier: Apache-2.0
// Computes:   what bounds a call, for explanations.
// Formula:    latency if a call of next to nothing takes half of the time. Else the largest of bytes sent over NVLink,
//             bytes over the NIC (at the all-to-all rate where the pattern is one) and the SM time of an expert library;
//             links of expert tokens at the shares that they reach.
// Source:     sent_bytes.cpp, expert_library.cpp.
// Ignores:    what NCCL loses between latency and a link's full rate: it counts as the link's.
// Checked by: tests/comm/bound_test.cpp.
#include <algorithm>

#include "comm/expert_library.hpp"
#include "comm/traffic_time.hpp"

namespace shardfit::comm {
namespace {

using block::CollectiveKind;

constexpr double kUs = 1e-6;

bool moves_expert_tokens(const block::Traffic& t) {
  return t.kind == CollectiveKind::dispatch || t.kind == CollectiveKind::combine;
}

bool is_pairwise(const block::Traffic& t) { return t.kind == CollectiveKind::all_to_all || moves_expert_tokens(t); }

double network_rate(const block::Traffic& t, const GroupLinks& links) {
  if (moves_expert_tokens(t)) return links.dispatch_rate().value;
  return (is_pairwise(t) ? links.network_alltoall : links.network).value;
}

Bound across(topology::SharedLink shared) {
  switch (shared) {
    case topology::SharedLink::leaf_uplink: return Bound::leaf_uplink;
    case topology::SharedLink::core_uplink: return Bound::core_uplink;
    default: return Bound::nic;
  }
}

/// Of a call that carries next to nothing.
double latency_of(block::Traffic t, const GroupLinks& links, const Network& network) {
  t.bytes = 1;
  t.tokens = 1e-6;
  return call_time(t, links, network);
}

}  // namespace

Bound bound_of(const block::Traffic& traffic, const GroupLinks& links, const Network& network) noexcept {
  const double time = call_time(traffic, links, network);
  if (time <= 0) return Bound::nothing;
  const SentBytes sent = sent_bytes(traffic, links, network);
  if (latency_of(traffic, links, network) >= time / 2) return Bound::latency;
  const bool experts = moves_expert_tokens(traffic);
  const double nvlink = sent.nvlink / (links.nvlink.value * (experts ? network.dispatch_nvlink : 1));
  const double nic = sent.network <= 0
                         ? 0
                         : sent.network / (network_rate(traffic, links) * (experts ? network.dispatch_network : 1));
  const double sms = experts ? kUs * copy_time_us(traffic, links, network) : 0;
  if (sms >= nvlink && sms >= nic) return Bound::sms;
  if (nic <= nvlink) return Bound::nvlink;
  return across(is_pairwise(traffic) ? links.bound_by_alltoall : links.bound_by);
}

}  // namespace shardfit::comm
