// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "io/read_stack.hpp"
#include "io/reader.hpp"
#include "shardfit/spec/model.hpp"
#include "shardfit/spec/training.hpp"

namespace shardfit::io {

/// A part of a run as read, with what had to be assumed: one sentence each that says how to state it.
template <class T>
struct Assumed {
  T value;
  std::vector<std::string> assumptions;
};

/// Whether a field without which a run cannot be scored may be missing: a scenario must state it, measured
/// rows need not.
enum class Missing { refuse, assume };

/// A run's `training` block. `assumed` wins over it.
Assumed<TrainingSpec> read_training(const Value& value, Object* assumed, const ModelSpec& model, const Stack& stack,
                                    Missing missing);

}  // namespace shardfit::io
