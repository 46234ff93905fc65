// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "io/parse.hpp"

namespace shardfit::io {

/// Puts what a measured run says of its model's end into training.task_type, with a note: tasks named after it (embedding,
/// seq_cls, reward model), or a model that is named an embedding or a reward model. What is stated stays.
void read_task_words(Json& run, std::vector<std::string>& notes);

}  // namespace shardfit::io
