// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "io/reader.hpp"
#include "shardfit/spec/stack.hpp"
#include "shardfit/spec/training.hpp"

namespace shardfit::io {

/// Reads the fields of a training block that say what its linear layers, parameters and attention compute in, and appends
/// what it assumes to `notes`. Throws InputError for fields that go with another one only.
void read_precision(Object& training, EntryPoint entry_point, TrainingSpec& into, std::vector<std::string>& notes);

}  // namespace shardfit::io
