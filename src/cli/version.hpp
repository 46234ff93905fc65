// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace shardfit::cli {

/// The program's version: project(VERSION ...) of CMakeLists.txt; a test holds the two together.
inline constexpr const char* kVersion = "0.1.0";

}  // namespace shardfit::cli
