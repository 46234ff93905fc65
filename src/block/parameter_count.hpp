// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "shardfit/spec/model.hpp"

namespace shardfit::block {

/// Parameters of a model, without its MTP layers, counted from the operation lists of an undivided model.
struct ParameterCount {
  std::int64_t total = 0;   ///< tower and buffers (router correction bias) included
  std::int64_t active = 0;  ///< those that a token meets: of routed experts num_experts_per_tok of num_experts
};
ParameterCount parameter_count(const ModelSpec& model);

}  // namespace shardfit::block
