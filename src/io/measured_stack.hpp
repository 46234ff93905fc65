// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/parse.hpp"
#include "shardfit/spec/model.hpp"
#include "shardfit/spec/stack.hpp"

// What a measured row leaves to its software: which profile fills its defaults, what single tools do beside it,
// and what changed with time.

namespace shardfit::io {

/// The stack profile (a name in stacks/) of a row, from what it says of its software, source and grade. A row
/// that names nothing known is taken as run by Megatron-Bridge, the default stack.
std::string profile_of(const Json& run);

/// Fills fields that a row leaves out, from the words of its software: expert library, chunked logits, capacity,
/// dtypes, accumulation. Returns what was filled in by a guess that matters, in words.
std::vector<std::string> apply_software(Json& run);

/// Expert parallelism of a row whose software names a dispatch library (DeepEP, HybridEP) though its `ep` is 1, which
/// such a library does not serve: as many ranks as share its experts evenly. Of torch tools only, whose expert ranks
/// are data-parallel ones. None where nothing contradicts.
std::optional<int> implied_expert_parallel(const Json& run, const ModelSpec& model, int ranks);

/// The profile as it was on the day of a row (its `date`, where that is at least a month).
StackProfile dated(StackProfile stack, const Json& row, const ModelSpec& model);

/// Text of a key, or empty where it is missing or no text.
std::string text_of(const Json& run, const char* key);
/// Whole number of a key, or `otherwise` where it is missing or no whole number.
int int_of(const Json& block, const char* key, int otherwise);
/// Whether `text` has `word`, whatever the case of either.
bool mentions(const std::string& text, const std::string& word);

}  // namespace shardfit::io
