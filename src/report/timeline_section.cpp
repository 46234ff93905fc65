// SPDX-License-Identifier: Apache-2.0
#include "report/timeline_section.hpp"

#include <algorithm>

#include "estimate/live_tables.hpp"
#include "replay/event_replay.hpp"

// Sample:
//   stage  busy s  waiting s  waiting %  first forward to last backward
//       0   12.00       3.00       20.0  FFFFFFF..BFBFBFB...BBB
//       1   12.00       3.00       20.0  .FFFFFFBFBFBFBF..BBBB.

namespace shardfit::report {
namespace {

constexpr int kWidth = 72;  // characters of the step, to fit a 110-column terminal beside the numbers

/// The passes of the layout's micro-batches, each stage at its own pace.
replay::Replay played(const Estimate& estimate) {
  const int pp = estimate.layout.pp, vpp = estimate.layout.vpp;
  std::vector<double> forward, backward;
  for (int chunk = 0; chunk < vpp; ++chunk)
    for (int stage = 0; stage < pp; ++stage) {
      forward.push_back(estimate.stages[std::size_t(stage)].forward_s / vpp);
      backward.push_back(estimate.stages[std::size_t(stage)].backward_s / vpp);
    }
  return replay::play({estimate::pipeline_shape(estimate.layout, estimate.grid), forward, backward, 0, false});
}

/// A stretch of the step, cut into slices.
struct Stretch {
  double begin = 0, slice = 0;
  int slices = 0;
};

/// The whole step if its slices are no longer than a pass; else its beginning and its end, a slice the shortest pass.
std::vector<Stretch> stretches(const replay::Replay& replay) {
  double shortest = replay.finish;
  for (const std::vector<replay::ReplayEvent>& events : replay.timeline)
    for (const replay::ReplayEvent& event : events) shortest = std::min(shortest, event.end - event.start);
  if (replay.finish <= kWidth * shortest || shortest <= 0) return {{0, replay.finish / kWidth, kWidth}};
  constexpr int kHalf = kWidth / 2;
  return {{0, shortest, kHalf}, {replay.finish - kHalf * shortest, shortest, kHalf}};
}

/// What a stage does most of in each slice: F forward, B backward, - both, . neither.
std::string drawn(const std::vector<replay::ReplayEvent>& events, const Stretch& stretch) {
  constexpr double kMost = 2.0 / 3, kIdle = 0.5;
  std::vector<double> forward(std::size_t(stretch.slices)), backward = forward;
  for (const replay::ReplayEvent& event : events)
    for (int i = 0; i < stretch.slices; ++i) {
      const double begin = stretch.begin + i * stretch.slice, end = begin + stretch.slice;
      const double share = (std::min(event.end, end) - std::max(event.start, begin)) / stretch.slice;
      (event.kind == replay::PassKind::forward ? forward : backward)[std::size_t(i)] += std::max(0.0, share);
    }
  std::string text;
  for (std::size_t i = 0; i < forward.size(); ++i) {
    const double busy = forward[i] + backward[i];
    text += busy < kIdle ? '.' : forward[i] > kMost * busy ? 'F' : backward[i] > kMost * busy ? 'B' : '-';
  }
  return text;
}

std::string drawn(const std::vector<replay::ReplayEvent>& events, const std::vector<Stretch>& all) {
  std::string text;
  for (const Stretch& stretch : all) text += (text.empty() ? "" : "  ") + drawn(events, stretch);
  return text;
}

}  // namespace

std::vector<Section> timeline_sections(const Estimate& estimate) {
  const replay::Replay replay = played(estimate);
  const std::vector<Stretch> shown = stretches(replay);
  Table stages;
  stages.columns = {{"stage", "stage", ColumnKind::count},
                    {"busy", "busy", ColumnKind::seconds},
                    {"waiting", "waiting", ColumnKind::seconds},
                    {"waiting_share", "waiting", ColumnKind::ratio},
                    {"drawn", shown.size() == 1 ? "first forward to last backward" : "its beginning, and its end",
                     ColumnKind::text, 0, Shown::table_only}};
  Table passes;
  passes.columns = {{"stage", "stage", ColumnKind::count},
                    {"chunk", "chunk", ColumnKind::count},
                    {"microbatch", "micro-batch", ColumnKind::count},
                    {"pass", "pass"},
                    {"start", "start", ColumnKind::seconds},
                    {"end", "end", ColumnKind::seconds}};
  passes.most_printed = 12;
  passes.rest = "in csv and json";
  for (std::size_t stage = 0; stage < replay.timeline.size(); ++stage) {
    const replay::RankUse& use = replay.ranks[stage];
    stages.rows.push_back({{count_cell(int(stage)), Seconds(use.busy), Seconds(use.idle),
                            replay.finish > 0 ? Cell(use.idle / replay.finish) : Cell(), drawn(replay.timeline[stage], shown)},
                           RowKind::data,
                           0});
    for (const replay::ReplayEvent& event : replay.timeline[stage])
      passes.rows.push_back({{count_cell(event.rank), count_cell(event.chunk), count_cell(event.microbatch),
                              text_cell(event.kind == replay::PassKind::forward ? "forward" : "backward"), Seconds(event.start),
                              Seconds(event.end)},
                             RowKind::data,
                             0});
  }
  Section drawing{"timeline", "Pipeline timeline", std::move(stages), {}};
  drawing.notes.push_back("F forward, B backward, - both, . waiting; every micro-batch is played in the order of the schedule");
  drawing.notes.push_back("not in it: transfers between stages, data-parallel traffic, optimizer, the fixed cost of a step");
  return {std::move(drawing), {"passes", "Passes", std::move(passes), {}}};
}

}  // namespace shardfit::report
