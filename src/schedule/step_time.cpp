// SPDX-License-Identifier: Apache-2.0
// Computes: time of a step's micro-batches for stages that differ, and what of it is bubble and transfer.
// Formula:  the longest of a few paths through the order table. For every stage j, as if it set the pace:
//             T_j = way to it and back from it, one pass each + its own work M (F_j + B_j) + waiting while it fills
//                 + waiting while it drains;       T = max over j.
//           Waiting while it fills, the largest of: its first backward goes round through stage i > j, which has
//           (warm-up of i + 1) forwards to await first; forwards wrap to the next chunk later than it would take them;
//           the first wrap out of the steady state, delayed by stage i's alternation. Draining is the same played
//           backwards in time, with forward and backward exchanged. If everything is warm-up, a stage turns round once
//           and the longer waiting counts.
// Source:   derived here from the order of Megatron-LM (d98e8a64) core/pipeline_parallel/schedules.py.
// Valid when: a stage's chunks take equal time (first and last chunks that differ: error of their difference).
// Ignores:  paths that turn more than once; transfers that contend.
// Checked by: tests/oracle/schedule_test.cpp (within 2 % of the event replay on random cases).
#include "schedule/step_time.hpp"

#include <algorithm>
#include <cassert>

namespace shardfit::schedule {
namespace {

enum class Direction { forward, backward };

constexpr Direction opposite(Direction d) {
  return d == Direction::forward ? Direction::backward : Direction::forward;
}

/// The sizes and times that paths are made of.
class Pipeline {
 public:
  Pipeline(const PipelineShape& shape, std::span<const double> forward, std::span<const double> backward, double p2p)
      : shape_(shape), forward_(forward), backward_(backward), p2p_(p2p) {}

  int stages() const { return shape_.pp; }
  int chunk_passes() const { return shape_.microbatches * shape_.vpp; }
  int warmup(int stage) const { return warmup_microbatches(shape_, stage); }
  int group() const { return shape_.group; }
  int wraps() const { return shape_.vpp - 1; }

  /// One chunk's pass; without interleaving the sender stays until its tensor has gone.
  double pass(Direction d, int stage) const {
    const double time = (d == Direction::forward ? forward_ : backward_)[std::size_t(stage)] / shape_.vpp;
    const bool sends = d == Direction::forward ? stage + 1 < shape_.pp : stage > 0;
    return time + (shape_.vpp == 1 && sends ? p2p_ : 0);
  }
  /// What a tensor needs beyond the sender's pass to reach a neighbour.
  double hop() const { return shape_.vpp == 1 ? 0 : p2p_; }

  /// A pass on each of stages [from, to), with the hop that follows each.
  double way(Direction d, int from, int to) const {
    double sum = 0;
    for (int i = from; i < to; ++i) sum += pass(d, i) + hop();
    return sum;
  }

 private:
  const PipelineShape& shape_;
  std::span<const double> forward_, backward_;
  double p2p_;
};

/// Stage `j` waits this much in all warm-up wraps: a group comes round from the last stage, or past the slowest stage,
/// later than `j` is done with the group before.
double wrap_wait(const Pipeline& pipe, Direction d, int j) {
  double slowest = 0;
  for (int i = 0; i < pipe.stages(); ++i) slowest = std::max(slowest, pipe.pass(d, i));
  const double round = std::max(pipe.way(d, 0, pipe.stages()), pipe.group() * slowest);
  return pipe.wraps() * std::max(0.0, round - pipe.group() * pipe.pass(d, j));
}

/// How long stage `j` waits on its way from its first pass in direction `d` into its steady state.
double turning_wait(const Pipeline& pipe, Direction d, int j) {
  const Direction back = opposite(d);
  const int all = pipe.chunk_passes(), last = pipe.stages();
  const double own = pipe.pass(d, j);
  const double wrapped = wrap_wait(pipe, d, j);
  const int own_before_turn = std::min(pipe.warmup(j) + 1, all);

  // The pass that comes back to `j` after the first wrap out of the steady state, and j's own work before it.
  const int leaves = (pipe.wraps() + 1) * pipe.group(), returns = leaves + pipe.group();
  const bool has_steady_wrap = pipe.wraps() > 0 && returns < all;
  const double own_before_return =
      returns * own + std::max(0, returns - pipe.warmup(j)) * pipe.pass(back, j);

  double wait = wrapped;
  double there = pipe.hop(), there_and_back = 0;
  for (int i = j + 1; i < last; ++i) {
    there_and_back += pipe.pass(d, i) + pipe.pass(back, i) + 2 * pipe.hop();
    const int awaited = std::min(pipe.warmup(i) + 1, all) - own_before_turn;
    wait = std::max(wait, wrapped + awaited * own + there_and_back);

    if (has_steady_wrap && leaves >= pipe.warmup(i)) {
      const double alternating = (leaves - pipe.warmup(i)) * (pipe.pass(d, i) + pipe.pass(back, i));
      const double round = (pipe.warmup(i) + 1) * own + there + alternating + pipe.way(d, i, last) + pipe.way(d, 0, j);
      wait = std::max(wait, wrapped + round - own_before_return);
    }
    there += pipe.pass(d, i) + pipe.hop();
  }
  return wait;
}

double longest_path(const Pipeline& pipe) {
  double longest = 0;
  for (int j = 0; j < pipe.stages(); ++j) {
    const double fill = turning_wait(pipe, Direction::forward, j);
    const double drain = turning_wait(pipe, Direction::backward, j);
    const bool turns_once = pipe.warmup(j) == pipe.chunk_passes();
    const double work = pipe.chunk_passes() * (pipe.pass(Direction::forward, j) + pipe.pass(Direction::backward, j));
    const double way = pipe.way(Direction::forward, 0, j) + pipe.way(Direction::backward, 0, j);
    longest = std::max(longest, way + work + (turns_once ? std::max(fill, drain) : fill + drain));
  }
  return longest;
}

}  // namespace

StepTime step_time(const PipelineShape& shape, std::span<const double> forward, std::span<const double> backward,
                   double p2p_each_way) {
  assert(int(forward.size()) == shape.pp && int(backward.size()) == shape.pp);
  StepTime t;
  for (int i = 0; i < shape.pp; ++i) {
    const double stage = shape.microbatches * (forward[std::size_t(i)] + backward[std::size_t(i)]);
    if (stage > t.busy) t.busy = stage, t.slowest = i;
  }
  if (shape.pp == 1) return t;
  const double without = longest_path(Pipeline(shape, forward, backward, 0));
  t.bubble = std::max(0.0, without - t.busy);
  if (p2p_each_way > 0) t.p2p = longest_path(Pipeline(shape, forward, backward, p2p_each_way)) - without;
  return t;
}

double combined_1f1b_pairs(const PipelineShape& shape, int stage) {
  const int all = shape.microbatches * shape.vpp;
  if (!shape.expert_overlap || all == 0) return 0;
  return double(all - warmup_microbatches(shape, stage)) / all;
}

}  // namespace shardfit::schedule
