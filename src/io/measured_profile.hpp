// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>

#include "io/parse.hpp"
#include "shardfit/spec/model.hpp"
#include "shardfit/spec/stack.hpp"

// Which software ran a measured row, as far as it says, and what that software was on its day.

namespace shardfit::io {

/// The stack profile (a name in stacks/) of a row, from what it says of its software, source and grade. A row
/// that names nothing known is taken as run by Megatron-Bridge, the default stack.
std::string profile_of(const Json& run);

/// Groups (a row's `group`: runs that were compared with each other) of which one row at least follows a benchmark recipe of
/// Megatron-Bridge.
std::set<std::string> benchmark_groups(const Json& rows);
/// profile_of, but for rows that were compared with a benchmark: they follow its recipe too, else more than what is compared
/// would differ. Verification cards and functional runs keep their own.
std::string profile_of(const Json& run, const std::set<std::string>& benchmark_groups);

/// The profile as it was in the container (`release`) and on the day of a row (its `date`, where that is at least a month).
StackProfile dated(StackProfile stack, const Json& row, const ModelSpec& model);

/// Whether words of a software name a tool that trains with torch's own sharding (FSDP, FSDP2, DDP) or DeepSpeed's.
bool is_torch_tool(const std::string& software);
/// Whether ms-swift ran a row through Megatron-Core: it has these axes, and Megatron's distributed optimizer, nowhere else.
bool is_megatron_swift(const Json& run);
/// A verification card of Megatron-Bridge: routed naturally unless it says otherwise or is a tuned one.
bool is_card(const Json& run);

/// Whether a date (a day, or a month) lies before a day. A month that holds the day does not.
bool is_before(const std::string& date, const std::string& day);

/// Text of a key, or empty where it is missing or no text.
std::string text_of(const Json& run, const char* key);
/// Whole number of a key, or `otherwise` where it is missing or no whole number.
int int_of(const Json& block, const char* key, int otherwise);
/// Whether `text` has `word` (one of `words`), whatever the case of either.
bool mentions(const std::string& text, const std::string& word);
bool mentions_any(const std::string& text, std::initializer_list<const char*> words);

}  // namespace shardfit::io
