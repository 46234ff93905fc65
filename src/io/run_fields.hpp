// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "io/parse.hpp"

namespace shardfit::io {

/// Every scalar field of a run as text, by dotted path ("layout.tp") and by last name ("tp"). Where two paths
/// end in one name, the first of top level, training, layout, stack, assumed, measured keeps it. Lists of
/// scalars are joined by "+". An inline model is its name.
std::map<std::string, std::string> run_fields(const Json& run);

}  // namespace shardfit::io
