// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "io/parse.hpp"

// What single tools do where a measured row is silent.

namespace shardfit::io {

/// Fills what the row's tool does by itself: dtypes of its state, its loss, when it reduces and gathers, how it packs and
/// joins samples. Returns what was filled in by a guess that matters, in words. `run` has a `stack` object.
std::vector<std::string> apply_tool_defaults(Json& run);

/// Sets a field of a block where it is missing or null.
void set_default(Json& block, const char* key, const Json& value);
/// The block of a key, made where it is missing or null.
Json& object_of(Json& run, const char* key);

}  // namespace shardfit::io
