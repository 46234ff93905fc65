// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/parse.hpp"

namespace shardfit::io {

/// The kinds of lists that `validate` reads, each with a flag of its own.
enum class MeasuredKind { runs, effects, facts };

/// Throws InputError, once for the file, where it is no list, or where its first row is one of another kind; then with the
/// flag that takes such a file.
void require_kind(const Json& list, const std::string& path, MeasuredKind wanted);

}  // namespace shardfit::io
