// SPDX-License-Identifier: Apache-2.0
// Computes:   bytes that one rank sends in one call, inside its NVLink domain and to other domains (mean over ranks).
// Formula:    n ranks, m in each of R domains. Rings: S(n-1)/n (all-reduce twice), of which one edge in m leaves the domain
//             when R > 1. Broadcast: as a ring, S(n-1)/n on the mean. Send: S, of a context- parallel ring over one edge in
//             m to another domain, of a pipeline all of it. All-to-all: S(m-1)/n inside, S(n-m)/n across. Expert tokens
//             without de-duplication: top_k*T*w in place of S. With it: T*w*hits*(1 - 1/m) over NVLink (a token from
//             another domain is handed on inside by the rank that received it), T*w*domains_hit*(1 - 1/R) across. allgather
//             dispatcher: a ring over all tokens.
// Source:     ring and pairwise algorithms; DeepEP and HybridEP READMEs for what is sent once.
// Valid when: members are spread evenly over the domains.
// Ignores:    protocol overhead; in-switch reduction (counted as the ring that it replaces), routing maps and counts.
// Checked by: tests/comm/replay_test.cpp, rank by rank.
#include <algorithm>

#include "comm/expert_volume.hpp"
#include "comm/traffic_time.hpp"

namespace shardfit::comm {
namespace {

using block::CollectiveKind;

int members_of(const GroupLinks& links) { return std::clamp(links.members_per_domain, 1, links.size); }

SentBytes ring(double bytes, const GroupLinks& links) {
  if (links.domains <= 1) return {bytes, 0};
  const double across = bytes / members_of(links);
  return {bytes - across, across};
}

SentBytes pairwise(double bytes, const GroupLinks& links) {
  const double n = links.size, m = links.domains <= 1 ? n : members_of(links);
  return {bytes * (m - 1) / n, bytes * (n - m) / n};
}

SentBytes deduplicated(const block::Traffic& t, const GroupLinks& links) {
  const double m = links.domains <= 1 ? links.size : members_of(links);
  const double brought = t.tokens * t.width_bytes;
  const double ranks = brought * expected_ranks_hit(t, links) * (1 - 1 / m);
  if (links.domains <= 1) return {ranks, 0};
  const double domains = links.domains;
  return {ranks, brought * expected_domains_hit(t, links) * (1 - 1 / domains)};
}

SentBytes expert_tokens(const block::Traffic& t, const GroupLinks& links, Dispatcher dispatcher) {
  const double n = links.size;
  switch (dispatcher) {
    case Dispatcher::allgather: return ring(t.tokens * t.width_bytes * (n - 1), links);
    case Dispatcher::alltoall: return pairwise(t.top_k * t.replicas * t.tokens * t.width_bytes, links);
    default: return deduplicated(t, links);
  }
}

}  // namespace

SentBytes sent_bytes(const block::Traffic& traffic, const GroupLinks& links, const Network& network) noexcept {
  const double n = links.size;
  if (n <= 1) return {};
  switch (traffic.kind) {
    case CollectiveKind::all_reduce: return ring(2 * traffic.bytes * (n - 1) / n, links);
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::broadcast: return ring(traffic.bytes * (n - 1) / n, links);
    case CollectiveKind::all_to_all: return pairwise(traffic.bytes, links);
    case CollectiveKind::send_recv: {
      const bool handed_round = traffic.group != block::Group::pp;  // a context-parallel ring
      if (handed_round) return ring(traffic.bytes, links);
      return links.domains > 1 ? SentBytes{0, traffic.bytes} : SentBytes{traffic.bytes, 0};
    }
    default: return expert_tokens(traffic, links, network.dispatcher);
  }
}

}  // namespace shardfit::comm
