// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "io/parse.hpp"

// What a measured row says in words, in older spellings, or beside fields that make it void.

namespace shardfit::io {

/// Gives the layout and training of a row the form that the readers take: offload told in words, lists of one meaning,
/// names that the software has renamed, settings that it ignores or fills in by itself, and takes out what has no form
/// here. Returns what was changed or left out, in words. Names that the software never had are left for the readers.
std::vector<std::string> put_into_fields(Json& run);

/// Whether words of activation offload mean that the checkpoints of full recompute go to the host.
bool offloads_checkpoints(const Json& run);

}  // namespace shardfit::io
