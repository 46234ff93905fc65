// SPDX-License-Identifier: Apache-2.0
// Computes:   how many of equal parts (ranks, NVLink domains) hold an expert that a token picks.
// Formula:    parts * (1 - C(E - E/parts, k)/C(E, k)): a part is missed when all k picks fall elsewhere; E = 0: parts * (1
//             - (1 - 1/parts)^k). Group-limited routing with c of G groups: parts of at most one group are those of the c
//             chosen groups, E c/G experts on parts c/G parts; parts of g = G/parts groups hold j of the chosen ones with
//             the hypergeometric chance, and are missed by C((c - j) E/G, k)/C(c E/G, k).
// Source:     counting; Megatron-LM core/transformer/moe/moe_utils.py:group_limited_topk.
// Valid when: routing is uniform over groups and experts, experts lie on parts in equal consecutive pieces.
// Ignores:    imbalance, correlation of the picks; the sum of two scores by which groups are chosen.
// Checked by: tests/block/expert_hits_test.cpp against enumeration.
#include "block/expert_hits.hpp"

#include <algorithm>
#include <cmath>

namespace shardfit::block {
namespace {

/// Chance that `k` distinct picks of `all` fall into `others` only: C(others, k)/C(all, k).
double all_elsewhere(double others, double all, int k) {
  double chance = 1;
  for (int pick = 0; pick < k && pick < all; ++pick) chance *= std::max(0.0, (others - pick) / (all - pick));
  return chance;
}

double choose(int n, int k) {
  double ways = 1;
  for (int i = 1; i <= k; ++i) ways *= double(n - k + i) / i;
  return ways;
}

/// Chance that `held` of `groups` groups have exactly `j` of the `chosen` ones.
double chance_of(int j, int held, int groups, int chosen) {
  if (j > held || j > chosen || chosen - j > groups - held) return 0;
  return choose(held, j) * choose(groups - held, chosen - j) / choose(groups, chosen);
}

double without_limit(double parts, double experts, int top_k) {
  if (parts <= 1) return 1;
  const double missed = experts > 0 ? all_elsewhere(experts - experts / parts, experts, top_k) : std::pow(1 - 1 / parts, top_k);
  return parts * (1 - missed);
}

}  // namespace

double expected_parts_hit(double parts, int experts, int top_k, RoutingLimit limit) noexcept {
  const bool limited = limit.groups > 1 && limit.chosen > 0 && limit.chosen < limit.groups && experts > 0;
  if (!limited || parts <= 1) return without_limit(parts, experts, top_k);
  const double share = double(limit.chosen) / limit.groups;
  if (parts >= limit.groups) return std::max(1.0, without_limit(parts * share, experts * share, top_k));
  const int held = std::max(1, int(std::lround(limit.groups / parts)));
  const double group = double(experts) / limit.groups;
  double hit = 0;
  for (int j = 1; j <= held; ++j)
    hit += chance_of(j, held, limit.groups, limit.chosen) *
           (1 - all_elsewhere((limit.chosen - j) * group, limit.chosen * group, top_k));
  return parts * hit;
}

}  // namespace shardfit::block
