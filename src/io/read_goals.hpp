// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "io/reader.hpp"
#include "shardfit/search/goals.hpp"

namespace shardfit::io {

/// The `goals` of a scenario: what its sweep ranks by and what layouts may take. Absent: plain goals.
Goals read_goals(const std::optional<Value>& value);

}  // namespace shardfit::io
