// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace shardfit::block {

/// Which experts a token may pick together: they lie in `groups` consecutive groups, of which it may use `chosen`. 0 or 1
/// groups, or 0 chosen: no limit.
struct RoutingLimit {
  int groups = 0, chosen = 0;
};

/// Expected number of distinct parts that a token reaches, when `parts` equal parts hold `experts` experts and the token picks
/// `top_k` distinct ones at random within the limit. Without a number of experts (0) the picks are independent.
double expected_parts_hit(double parts, int experts, int top_k, RoutingLimit limit = {}) noexcept;

}  // namespace shardfit::block
