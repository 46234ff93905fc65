// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "shardfit/spec/layout.hpp"

namespace shardfit::layout {

/// A layout string that gives every chunk as many layers as can be, the first and the last ones fewer, which also hold the
/// embedding and the head with its MTP layers: "Et*4|(t*4|)*14tmL" for 61 layers in 16 chunks. Where that leaves the first
/// chunk less than nothing, some chunks between have one layer more than all others. None for less than a layer a chunk.
std::optional<PipelineSplit> near_even_split(int layers, int chunks, int mtp);

}  // namespace shardfit::layout
