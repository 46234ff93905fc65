// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "block/moe_parts.hpp"

namespace shardfit::block {

/// One of the two linears of a rank's routed experts.
struct ExpertLinear {
  const char* name = "";
  std::int64_t out = 0, in = 0;
  LinearModule adapter = LinearModule::linear_fc1;
  bool bias = false, input_grad = true;
  bool casts_input = true, casts_output_grad = true;
};

/// Weights, grouped GEMMs, casts and adapters of a linear of all local experts.
void add_expert_linear(Op& op, const ExpertLinear& linear, const MoeSizes& sizes, const Shapes& layer);

/// Calls of one of the two grouped linears.
void add_expert_linear_host(Op& op, LinearModule module, const MoeSizes& sizes, const Shapes& layer);

}  // namespace shardfit::block
