// SPDX-License-Identifier: Apache-2.0
// Computes:   how many ranks, or domains, get a copy of a token.
// Formula:    parts * (1 - C(E - E/parts, k)/C(E, k)): a part is missed when all k picks fall elsewhere. Without a
//             number of experts: parts * (1 - (1 - 1/parts)^k). Group-limited routing bounds the domains: a group
//             covers domains/groups of them when there are at least as many; else the same expectation over the
//             groups chosen.
// Source:     counting; de-duplication rules of DeepEP and HybridEP (READMEs).
// Valid when: routing is uniform over experts, experts lie on ranks in equal consecutive parts.
// Ignores:    imbalance between ranks (it comes in through the tokens), correlation of the picks.
// Checked by: tests/comm/expert_volume_test.cpp against enumeration.
#include "comm/expert_volume.hpp"

#include <algorithm>

namespace shardfit::comm {

double expected_parts_hit(double parts, int experts, int top_k) noexcept {
  if (parts <= 1) return 1;
  const double local = experts / parts;
  double missed = 1;
  for (int pick = 0; pick < top_k; ++pick)
    missed *= experts > top_k ? std::max(0.0, (experts - local - pick) / (experts - pick)) : 1 - 1 / parts;
  return parts * (1 - missed);
}

double expected_domains_hit(double domains, const block::Traffic& t) noexcept {
  const double free_choice = expected_parts_hit(domains, t.num_experts, t.top_k);
  if (t.groups_chosen <= 0 || t.num_groups <= 1 || domains <= 1) return free_choice;
  const double groups = t.num_groups;
  const double bound = domains >= groups ? std::max(1.0, t.groups_chosen * domains / groups)
                                         : expected_parts_hit(domains, t.num_groups, t.groups_chosen);
  return std::min(free_choice, bound);
}

}  // namespace shardfit::comm
