// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "memory/static_state.hpp"

namespace shardfit::memory {

/// What the cast of master weights to gathered fp8 or fp4 weights holds for one grid (dense or expert), while the
/// optimizer runs. `shard`: quantised elements whose masters the rank has; `linear`: quantised elements of the whole
/// grid on this rank's tensor- and pipeline-parallel part. 0 where parameters are not gathered quantised.
Bytes master_cast_bytes(const StaticInputs& in, std::int64_t shard, std::int64_t linear);

}  // namespace shardfit::memory
