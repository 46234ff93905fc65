// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace shardfit::schedule {

/// A pipeline schedule's fixed sizes.
struct PipelineShape {
  int pp = 1, vpp = 1, microbatches = 1;
  int group = 1;                ///< micro-batches that walk through the chunks together (default pp)
  bool expert_overlap = false;  ///< combined 1F1B: one more warm-up forward, then forward and backward in pairs
};

/// How many micro-batches' activations of each of a stage's chunks are alive at once. One vector (vpp counts) for every
/// distinct moment of highest load: the total is the same in all, but chunks differ in bytes, so the dearest one counts.
/// Source: Megatron-LM core/pipeline_parallel/schedules.py:get_pp_rank_microbatches, get_schedule_table.
std::vector<std::vector<int>> live_chunks(const PipelineShape& shape, int stage);

/// Warm-up forwards of a stage before its first backward.
int warmup_microbatches(const PipelineShape& shape, int stage);

}  // namespace shardfit::schedule
