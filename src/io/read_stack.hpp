// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "io/reader.hpp"
#include "shardfit/spec/layout.hpp"
#include "shardfit/spec/stack.hpp"
#include "shardfit/spec/training.hpp"

namespace shardfit::io {

/// What an entry point fills in where a run says nothing: the `defaults` block of stacks/*.json.
struct StackDefaults {
  bool etp_is_tp = false;  ///< else 1
  enum class SequenceParallel { off, with_tp, with_tp_moe } sequence_parallel = SequenceParallel::with_tp;
  Sharding sharding = Sharding::optimizer;
  std::optional<DType> gradient_dtype;   ///< none: as the parameters
  std::optional<DType> optimizer_dtype;  ///< master weights and moments; none: as the parameters
  int vocab_padding_multiple = 128;
  Routing routing = Routing::natural;
  Dispatcher dispatcher = Dispatcher::alltoall;
  bool overlap_grad_reduce = true, overlap_param_gather = true;
  double visual_tokens_per_image = 800, visual_spread = 0.8;
};

struct Stack {
  StackProfile profile;
  StackDefaults defaults;
};

/// A profile by name or path.
Stack find_stack(const std::string& name, const Place& asked);

/// A run's `stack`: a profile's name, or an object of overrides with an optional `profile`. Without one,
/// `otherwise`.
Stack read_stack(const std::optional<Value>& value, const std::string& otherwise);

}  // namespace shardfit::io
