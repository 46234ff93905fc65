// SPDX-License-Identifier: Apache-2.0
// Computes:   how many ranks, or domains, get a copy of a token.
// Formula:    an expert's parts lie on `replicas` consecutive ranks, which all get the token: replicas * parts hit of
//             n/replicas (block/expert_hits.cpp). Domains: the same with the domains that the ranks of one expert span.
// Source:     counting; de-duplication rules of DeepEP and HybridEP (READMEs).
// Valid when: experts lie on ranks in equal consecutive parts, members are spread evenly over the domains.
// Ignores:    imbalance between ranks (it comes in through the tokens).
// Checked by: tests/comm/expert_volume_test.cpp.
#include "comm/expert_volume.hpp"

#include <algorithm>

namespace shardfit::comm {
namespace {

double hit(double places, double span, const block::Traffic& t) {
  return span * block::expected_parts_hit(places / span, t.num_experts, t.top_k, t.limit);
}

}  // namespace

double expected_ranks_hit(const block::Traffic& t, const topology::GroupLinks& links) noexcept {
  return hit(links.size, t.replicas, t);
}

double expected_domains_hit(const block::Traffic& t, const topology::GroupLinks& links) noexcept {
  if (links.domains <= 1) return 1;
  const double members = std::max(1, links.members_per_domain);
  return hit(links.domains, std::max(1.0, t.replicas / members), t);
}

}  // namespace shardfit::comm
