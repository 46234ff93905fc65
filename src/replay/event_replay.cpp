// SPDX-License-Identifier: Apache-2.0
// Computes:   start and end of every chunk pass of a step, on every rank.
// Formula:    a pass starts when its rank is free and its input has arrived: forward from the chunk before, backward from
//             the chunk after, the first backward of a micro-batch from its own last forward.
//             Order of passes: Megatron's table, rank by rank.
// Source:     Megatron-LM (d98e8a64) core/pipeline_parallel/schedules.py.
// Valid when: passes of a chunk take the same time for every micro-batch.
// Ignores:    contention of transfers; what happens after the last backward.
// Checked by: tests/replay/event_replay_test.cpp.
#include "replay/event_replay.hpp"

#include <algorithm>
#include <cassert>

namespace shardfit::replay {
namespace {

using schedule::PipelineShape;

struct Pass {
  int chunk, microbatch;
  PassKind kind;
};

/// Table of (micro-batch, chunk) in forward order, written out group by group. Kept apart from
/// schedule/order.hpp, which it checks.
std::vector<Pass> forward_table(const PipelineShape& shape) {
  std::vector<Pass> table;
  for (int first = 0; first < shape.microbatches; first += shape.group)
    for (int chunk = 0; chunk < shape.vpp; ++chunk)
      for (int m = first; m < std::min(first + shape.group, shape.microbatches); ++m)
        table.push_back({chunk, m, PassKind::forward});
  return table;
}

int warmup_of(const PipelineShape& shape, int rank) {
  int warmup = shape.vpp > 1 ? 2 * (shape.pp - 1 - rank) + (shape.vpp - 1) * shape.group : shape.pp - 1 - rank;
  if (shape.expert_overlap) warmup += 1;
  return std::min(warmup, shape.microbatches * shape.vpp);
}

std::vector<Pass> order_of(const PipelineShape& shape, int rank) {
  const std::vector<Pass> forwards = forward_table(shape);
  std::vector<Pass> backwards = forwards;
  for (Pass& pass : backwards) pass = {shape.vpp - 1 - pass.chunk, pass.microbatch, PassKind::backward};

  const std::size_t head = std::size_t(warmup_of(shape, rank));
  std::vector<Pass> order(forwards.begin(), forwards.begin() + std::ptrdiff_t(head));
  for (std::size_t i = head; i < forwards.size(); ++i) {
    order.push_back(forwards[i]);
    order.push_back(backwards[i - head]);
  }
  order.insert(order.end(), backwards.end() - std::ptrdiff_t(head), backwards.end());
  return order;
}

/// Ends of passes by (global chunk, micro-batch); negative: not yet run.
class Ends {
 public:
  Ends(int chunks, int microbatches)
      : microbatches_(microbatches), forward_(std::size_t(chunks * microbatches), -1.0), backward_(forward_) {}
  double& at(PassKind kind, int chunk, int microbatch) {
    const std::size_t i = std::size_t(chunk * microbatches_ + microbatch);
    return kind == PassKind::forward ? forward_[i] : backward_[i];
  }

 private:
  int microbatches_;
  std::vector<double> forward_, backward_;
};

/// When the input of a pass of global chunk `chunk` is there; negative: not yet known.
double input_ready(const ReplayInput& in, Ends& ends, PassKind kind, int chunk, int microbatch) {
  const int last = in.shape.pp * in.shape.vpp - 1;
  if (kind == PassKind::forward && chunk == 0) return 0;
  if (kind == PassKind::backward && chunk == last) return ends.at(PassKind::forward, last, microbatch);
  const int from = kind == PassKind::forward ? chunk - 1 : chunk + 1;
  const double end = ends.at(kind, from, microbatch);
  return end < 0 ? -1 : in.shape.pp > 1 ? end + in.p2p : end;
}

/// When a pass whose rank and input are there at `time` starts: a chunk's first forward awaits its parameters.
double with_parameters(const ReplayInput& in, const Pass& pass, int chunk, double time) {
  if (pass.kind != PassKind::forward || pass.microbatch > 0) return time;
  if (!in.gathers.empty()) time += in.gathers[std::size_t(chunk)];
  if (!in.gathered_at.empty()) time = std::max(time, in.gathered_at[std::size_t(chunk)]);
  return time;
}

bool sends(const ReplayInput& in, PassKind kind, int chunk) {
  if (in.shape.pp == 1) return false;
  return kind == PassKind::forward ? chunk < in.shape.pp * in.shape.vpp - 1 : chunk > 0;
}

}  // namespace

Replay play(const ReplayInput& in) {
  const PipelineShape& shape = in.shape;
  const std::size_t chunks = std::size_t(shape.pp * shape.vpp);
  assert(in.forward.size() == chunks && in.backward.size() == chunks);
  (void)chunks;

  std::vector<std::vector<Pass>> orders;
  for (int rank = 0; rank < shape.pp; ++rank) orders.push_back(order_of(shape, rank));

  Replay out;
  out.ranks.resize(std::size_t(shape.pp));
  out.timeline.resize(std::size_t(shape.pp));
  for (int rank = 0; rank < shape.pp; ++rank) out.ranks[std::size_t(rank)].warmup = warmup_of(shape, rank);
  Ends ends(shape.pp * shape.vpp, shape.microbatches);
  std::vector<double> free(std::size_t(shape.pp), 0.0);
  std::size_t left = 2 * std::size_t(shape.microbatches) * chunks;
  while (left > 0) {
    const std::size_t before = left;
    for (std::size_t rank = 0; rank < orders.size(); ++rank) {
      std::vector<ReplayEvent>& events = out.timeline[rank];
      while (events.size() < orders[rank].size()) {
        const Pass pass = orders[rank][events.size()];
        const int chunk = pass.chunk * shape.pp + int(rank);
        const double ready = input_ready(in, ends, pass.kind, chunk, pass.microbatch);
        if (ready < 0) break;
        const bool forward = pass.kind == PassKind::forward;
        const double start = with_parameters(in, pass, chunk, std::max(free[rank], ready));
        const double end = start + (forward ? in.forward : in.backward)[std::size_t(chunk)];
        const double sending = in.sender_waits && sends(in, pass.kind, chunk) ? in.p2p : 0;
        ends.at(pass.kind, chunk, pass.microbatch) = end;
        free[rank] = end + sending;
        out.ranks[rank].busy += end - start;
        out.ranks[rank].sending += sending;
        out.finish = std::max(out.finish, end);
        events.push_back({int(rank), pass.chunk, pass.microbatch, pass.kind, start, end});
        --left;
      }
    }
    assert(left < before && "the order table deadlocks");
    if (left == before) break;
  }
  for (RankUse& use : out.ranks) use.idle = out.finish - use.busy - use.sending;
  return out;
}

std::vector<LiveCount> live_over_time(const Replay& replay, int rank, int vpp, bool pairs) {
  const std::vector<ReplayEvent>& events = replay.timeline[std::size_t(rank)];
  const auto is_forward = [](const ReplayEvent& event) { return event.kind == PassKind::forward; };
  const std::size_t warmup = std::size_t(replay.ranks[std::size_t(rank)].warmup);

  std::vector<LiveCount> counts;
  LiveCount now{0, std::vector<int>(std::size_t(vpp), 0), 0};
  for (std::size_t i = 0; i < events.size(); ++i) {
    const bool forward = is_forward(events[i]);
    now.time = forward ? events[i].start : events[i].end;
    const int step = forward ? 1 : -1;
    now.per_chunk[std::size_t(events[i].chunk)] += step;
    now.total += step;
    const bool halfway = pairs && forward && i >= warmup;
    if (!halfway) counts.push_back(now);
  }
  return counts;
}

}  // namespace shardfit::replay
