// SPDX-License-Identifier: Apache-2.0
// Computes:   what data-parallel traffic costs a step.
// Formula:    b_k, f_k: backward and forward of stage k's chunk, V chunks, R_k and G_k its reductions and gathers a step.
//             Reductions, if they overlap: a chunk's follow its last backward, a round of all stages after the chunk
//             before, so they outlast stage k's last backward by max(R/V, R - (V-1) sum b). The first stage hides a chunk's
//             behind that backward, the others behind what is left of the pipeline: b_0 + ... + b_(k-1). If not, R_k less
//             the same rest. The step ends with the latest.
//             Gathers, if they overlap. Aligned: all stages gather the first chunks as the step begins, and stage k has f_0
//             + ... + f_(k-1) until it needs them; the latest delays the step. As needed (no interleaving): a stage asks as
//             its first forward arrives, and but for the first stage its parameters are one bucket, so each stage delays
//             the next: the sum over the stages. If not, the longest after the optimizer.
//             FSDP: behind every micro-batch. What hides slows compute by the overlap coefficient. What follows the
//             reduction is exposed.
// Source:     Megatron-LM d98e8a64 core/pipeline_parallel/schedules.py (grad_sync_func, param_sync_func: stages but the
//             first reduce in the bubble), core/distributed/param_and_grad_buffer.py:finish_param_sync,
//             distributed_data_parallel.py (one bucket beyond the first stage); a receive is waited for before a forward's
//             hooks run (p2p_communication.py). Megatron-Bridge 067f987d training/comm_overlap.py: aligned if interleaved.
// Valid when: buckets are small against the window on the first stage; stages take about equal time (one that is slower
//             than the rest would absorb delays of others).
// Ignores:    FSDP's first gather and last reduction, which nothing hides.
// Checked by: tests/estimate/data_parallel_time_test.cpp, tests/measured.

#include "estimate/data_parallel_time.hpp"

#include <algorithm>

namespace shardfit::estimate {

/// Seconds by which a stage's reductions outlast the last backward of the step; negative: done before.
double DataParallelTime::reductions_outlast(const StageWindow& window, double seconds) const {
  if (!layout_.overlap.grad_reduce) return seconds - window.backward_before;
  const double chunks = layout_.vpp;
  const double outlasts = std::max(seconds / chunks, seconds - (chunks - 1) * backward_round_ / chunks);
  return outlasts - (window.stage == 0 ? window.backward : window.backward_before) / chunks;
}

/// Seconds by which a stage's own gathers delay its first forwards.
double DataParallelTime::gathers_delay(const StageWindow& window, double seconds) const {
  const double chunks = layout_.vpp;
  if (!aligned_) return window.stage == 0 ? std::max(0.0, seconds - window.forward) : seconds;
  const double needed = std::max(seconds / chunks, seconds - (chunks - 1) * forward_round_ / chunks);
  return needed - (window.stage == 0 ? window.forward : window.forward_before) / chunks;
}

/// FSDP, and gradients sharded as they come, whatever the layout says of overlap (see the alteration fsdp_overlap_on).
void DataParallelTime::add_whole(const StageWindow& window, const StepConstants& of, bool sets_pace) {
  const bool whole = layout_.sharding != Sharding::optimizer_grads;
  const double passes = window.backward + (whole ? window.forward : 0), room = passes * microbatches_;
  const double traffic = of.reductions + (whole ? of.gathers : 0);
  drain_ = std::max(drain_, traffic - room + of.exposed);
  drain_ = std::max(drain_, of.exposed);
  if (sets_pace) hidden_ += std::min(traffic, room);
}

void DataParallelTime::add(const StageWindow& window, const StepConstants& of, bool sets_pace) {
  optimizer_ = std::max(optimizer_, of.optimizer);
  const bool whole = layout_.sharding == Sharding::full || layout_.sharding == Sharding::full_torch;
  const bool reduces_every = whole || layout_.sharding == Sharding::optimizer_grads;
  const double chunks = layout_.vpp, later_chunks = (chunks - 1) / chunks;
  const bool first = window.stage == 0;
  if (reduces_every) {
    add_whole(window, of, sets_pace);
  } else {
    drain_ = std::max(drain_, std::max(0.0, reductions_outlast(window, of.reductions)) + of.exposed);
    if (sets_pace && layout_.overlap.grad_reduce)
      hidden_ += of.reductions * later_chunks + (first ? std::min(of.reductions, window.backward) / chunks : 0);
  }
  if (whole) return;
  if (!layout_.overlap.param_gather) {
    after_ = std::max(after_, of.gathers);
    return;
  }
  const double delay = gathers_delay(window, of.gathers);
  if (aligned_)
    latest_ = std::max(latest_, delay);
  else
    one_by_one_ += delay * window.alike;
  if (sets_pace)
    hidden_ += (aligned_ ? of.gathers * later_chunks : 0) + (first ? std::min(of.gathers, window.forward) / chunks : 0);
}

StepAddition DataParallelTime::sum() const {
  return {.exposed = latest_ + one_by_one_ + drain_ + after_, .hidden = hidden_, .optimizer = optimizer_};
}

}  // namespace shardfit::estimate
