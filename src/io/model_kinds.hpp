// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/spec/model.hpp"

namespace shardfit::io {

/// Which kinds of part a model's layers (MTP included) are made of: what a choice can apply to at all.
struct ModelKinds {
  bool attention = false, mla = false, gated_delta_net = false, mamba = false;
  bool dense_mlp = false, moe = false, shared_experts = false;
  int most_experts = 0;
};

ModelKinds kinds_of(const ModelSpec& model);

}  // namespace shardfit::io
