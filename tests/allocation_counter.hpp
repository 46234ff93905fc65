// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace shardfit::test {

/// Calls of operator new in this program so far. The operators are replaced in a file of their own, so that no inlining shows
/// the compiler one half of a new/delete pair.
long allocations();

}  // namespace shardfit::test
