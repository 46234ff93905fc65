// SPDX-License-Identifier: Apache-2.0
// Computes:   how many micro-batches' activations of each chunk of a stage are alive, at the moments when most are.
// Formula:    a stage runs w warm-up forwards, then forward and backward by turns, then w backwards. Before the i-th
//             backward it has run w+1+i forwards and i backwards, so w+1 chunks live, or all where everything is warm-up.
//             Combined 1F1B (expert overlap) has one more warm-up forward, but a pair frees as it goes: w live. w =
//             pp-1-stage for 1F1B; 2(pp-1-stage) + (vpp-1) group interleaved; one more with expert overlap.
// Source:     Megatron-LM (d98e8a64) core/pipeline_parallel/schedules.py: get_pp_rank_microbatches, get_schedule_table.
// Valid when: the schedule is Megatron's 1F1B or interleaved 1F1B.
// Ignores:    chunks that free early (early_attn_memory_release), offload.
// Checked by: tests/schedule/live_chunks_test.cpp, tests/oracle/schedule_test.cpp (against the event replay).
#include "schedule/live_chunks.hpp"

#include <algorithm>

#include "schedule/order.hpp"

namespace shardfit::schedule {

int warmup_microbatches(const PipelineShape& shape, int stage) {
  const int all = shape.microbatches * shape.vpp;
  const int behind = shape.pp - 1 - stage;
  int warmup = behind;
  if (shape.pp > 1 && shape.vpp > 1) warmup = 2 * behind + (shape.vpp - 1) * shape.group;
  if (shape.expert_overlap) warmup += 1;
  return std::min(warmup, all);
}

namespace {

/// The same schedule with fewer whole groups in its steady middle, which repeats itself from group to group.
PipelineShape shortened(PipelineShape shape, int warmup) {
  constexpr int kGroupsKept = 3;  // one of steady state, and what begins and ends it
  const int group = std::clamp(shape.group, 1, std::max(shape.microbatches, 1));
  const int keep = warmup / (group * shape.vpp) + kGroupsKept;
  const int groups = shape.microbatches / group;
  if (groups > keep) shape.microbatches -= (groups - keep) * group;
  return shape;
}

}  // namespace

std::vector<std::vector<int>> live_chunks(const PipelineShape& full, int stage) {
  const PipelineShape shape = shortened(full, warmup_microbatches(full, stage));
  const int all = shape.microbatches * shape.vpp;
  const int warmup = warmup_microbatches(shape, stage);
  std::vector<int> live(std::size_t(shape.vpp), 0);
  const auto at = [&live](int chunk) -> int& { return live[std::size_t(chunk)]; };
  for (int i = 0; i < warmup; ++i) ++at(forward_at(shape, i).chunk);

  std::vector<std::vector<int>> moments;
  if (warmup == all || shape.expert_overlap) moments.push_back(live);
  for (int i = warmup; i < all; ++i) {
    ++at(forward_at(shape, i).chunk);
    if (!shape.expert_overlap) moments.push_back(live);
    --at(backward_at(shape, i - warmup).chunk);
    // Combined 1F1B runs the two side by side, layer by layer: what the forward gains the backward has let go.
    if (shape.expert_overlap) moments.push_back(live);
  }
  std::sort(moments.begin(), moments.end());
  moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
  return moments;
}

}  // namespace shardfit::schedule
