// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "block/op.hpp"
#include "topology/group_links.hpp"

namespace shardfit::comm {

/// Expected number of ranks that get a copy of a token, its own among them.
double expected_ranks_hit(const block::Traffic& traffic, const topology::GroupLinks& links) noexcept;

/// The same of NVLink domains.
double expected_domains_hit(const block::Traffic& traffic, const topology::GroupLinks& links) noexcept;

}  // namespace shardfit::comm
