// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/search/partial.hpp"

namespace shardfit::search {

/// The group of `best` (sorted, best first) that the error band of the best one holds together. `kept`: how many may be in
/// `best`, so that a full list is known to be cut off.
NearTies near_ties(const Study& study, const std::vector<Ranked>& best, std::size_t kept, double band, std::string_view reason);

}  // namespace shardfit::search
