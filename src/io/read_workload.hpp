// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/read_stack.hpp"
#include "io/reader.hpp"
#include "shardfit/spec/model.hpp"
#include "shardfit/spec/training.hpp"

namespace shardfit::io {

/// A run's `vision` block: the name of a preset (workloads/*.json), or an object that may name one and overrides it. None
/// for a run without a tower. Adds a sentence to `notes` for each quantity that had to be assumed.
std::optional<VisionWorkload> read_vision_workload(Object& training, const ModelSpec& model, const StackDefaults& defaults,
                                                   bool text_only, std::vector<std::string>& notes);

}  // namespace shardfit::io
