// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "block/op.hpp"
#include "topology/group_links.hpp"

namespace shardfit::comm {

/// Expected number of distinct parts that a token reaches, when `parts` equal parts hold `experts` experts and the
/// token picks `top_k` distinct ones at random.
double expected_parts_hit(double parts, int experts, int top_k) noexcept;

/// The same with group-limited routing: experts lie in `num_groups` consecutive groups of which a token may use
/// `groups_chosen`.
double expected_domains_hit(double domains, const block::Traffic& traffic) noexcept;

}  // namespace shardfit::comm
