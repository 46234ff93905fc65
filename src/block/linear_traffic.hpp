// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "block/op.hpp"

namespace shardfit::block {

/// Adds a call; `bytes` of the whole tensor. Nothing for none.
void add_traffic(Work& work, const char* name, CollectiveKind kind, double bytes, Hides hides = Hides::nothing,
                 Group group = Group::tp);

}  // namespace shardfit::block
