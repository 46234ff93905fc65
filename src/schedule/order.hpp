// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "schedule/live_chunks.hpp"

namespace shardfit::schedule {

/// A chunk's pass over one micro-batch, as a position in a stage's order names it.
struct VirtualMicrobatch {
  int microbatch = 0, chunk = 0;
};

/// The `index`-th forward of every stage: groups of `group` micro-batches walk through chunks 0 .. vpp-1
/// together; the last group may be smaller. `index` in [0, microbatches * vpp).
/// Source: Megatron-LM core/pipeline_parallel/schedules.py: get_schedule_table.
constexpr VirtualMicrobatch forward_at(const PipelineShape& shape, int index) {
  const int group = std::clamp(shape.group, 1, std::max(shape.microbatches, 1));
  const int first = index / (group * shape.vpp) * group;  // first micro-batch of the group
  const int size = std::min(group, shape.microbatches - first);
  const int within = index - first * shape.vpp;
  return {first + within % size, within / size};
}

/// The `index`-th backward: the same order with chunks from the last to the first.
constexpr VirtualMicrobatch backward_at(const PipelineShape& shape, int index) {
  VirtualMicrobatch v = forward_at(shape, index);
  v.chunk = shape.vpp - 1 - v.chunk;
  return v;
}

}  // namespace shardfit::schedule
