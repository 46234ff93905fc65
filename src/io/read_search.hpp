// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "io/reader.hpp"
#include "shardfit/spec/scenario.hpp"

namespace shardfit::io {

/// Sizes of an axis: one value, a list of distinct ones, or a range (see `read_search`); from 1 to `most`.
std::vector<int> read_sizes_of(const Value& axis, int most);

/// The layout fields that a scenario's search block speaks about; they may not stand in `layout` as well.
std::set<std::string> searched_fields(const std::optional<Value>& search);

/// The space around a layout: every axis at the layout's own value, but for those of the search block. An
/// axis is one value, a list, {"from": 1, "to": 8} (doubling) or {"from": 1, "to": 8, "step": 1}, or "all".
/// `largest`: what a size may be; at least the job's GPUs.
SearchSpace read_search(const std::optional<Value>& search, const Job& job, const Layout& base, int largest);

}  // namespace shardfit::io
