// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace shardfit::io {

using Json = nlohmann::json;

/// Nesting that no file of ours comes near; deeper text is refused rather than walked.
inline constexpr int kMaxDepth = 64;

/// Strict JSON: a syntax error, a key given twice in one object, or nesting beyond kMaxDepth throws
/// InputError. Syntax errors point at "line 3, column 7".
Json parse_json(const std::string& text, const std::string& file);

/// The same from a file; InputError where it cannot be read.
Json parse_json_file(const std::string& path);

}  // namespace shardfit::io
