// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "block/op.hpp"

namespace shardfit::block {

/// Adds a call over the tensor-parallel group; `bytes` of the whole tensor.
void add_traffic(Work& work, const char* name, CollectiveKind kind, double bytes, Hides hides);

}  // namespace shardfit::block
