// SPDX-License-Identifier: Apache-2.0
// The state of one tensor of parameters under bf16 Adam.
#pragma once

#include "memory/static_state.hpp"

namespace shardfit::memory {

inline constexpr std::int64_t kElements = 64'000'000;  // a multiple of every alignment used here

inline StaticInputs bf16_adam(Sharding sharding, int shards) {
  StaticInputs in;
  in.params.dense = kElements;
  in.sharding = sharding;
  in.dense_shards = in.expert_shards = shards;
  return in;
}

inline Bytes total(const StaticInputs& in, MemoryMoment moment = MemoryMoment::between_steps) {
  MemoryTotal sum;
  add_static(static_state(in), moment, sum);
  return sum.allocated();
}

/// Bytes a parameter of a rank, between steps.
inline double per_parameter(const StaticInputs& in) { return double(total(in).value) / double(kElements); }

}  // namespace shardfit::memory
