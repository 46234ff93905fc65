// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/reader.hpp"
#include "shardfit/spec/training.hpp"

namespace shardfit::io {

/// The `lora` block of a training block: none where the task is another. Names of Hugging Face's layers and of adapters
/// that split a fused layer (CanonicalLoRA) are taken as the fused layer's. Throws InputError for a target that no block
/// has.
std::optional<LoraSpec> read_lora(Object& training, Task task, std::vector<std::string>& notes);

}  // namespace shardfit::io
