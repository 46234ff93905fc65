// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "schedule/live_chunks.hpp"

namespace shardfit::replay {

/// What is played: a schedule and the time of every chunk. Chunk vp * pp + rank, as Megatron numbers them.
struct ReplayInput {
  schedule::PipelineShape shape;
  std::span<const double> forward, backward;  ///< pp * vpp seconds of one micro-batch each
  double p2p = 0;                             ///< seconds of one transfer to a neighbour
  /// The sender waits until its tensor has gone (Megatron without overlap_p2p_comm, which needs interleaving).
  bool sender_waits = true;
  // Gathers of parameters, a number a chunk; none: nothing to gather.
  std::span<const double> gathers = {};      ///< s between the input of a chunk's first forward and its start
  std::span<const double> gathered_at = {};  ///< s from the step's begin until a chunk's first forward may start
};

enum class PassKind { forward, backward, count };

/// One chunk's pass over one micro-batch.
struct ReplayEvent {
  int rank = 0, chunk = 0, microbatch = 0;  ///< chunk: of the rank, 0 .. vpp-1
  PassKind kind = PassKind::forward;
  double start = 0, end = 0;  ///< s from the step's begin; without the transfer that follows
};

/// How one rank spent the step.
struct RankUse {
  double busy = 0;     ///< s in passes
  double sending = 0;  ///< s waiting for its own transfers
  double idle = 0;     ///< the rest until the step's last pass has ended
  int warmup = 0;      ///< forwards before its steady state
};

/// How many micro-batches each of a rank's chunks holds from `time` on.
struct LiveCount {
  double time = 0;
  std::vector<int> per_chunk;
  int total = 0;
};

struct Replay {
  double finish = 0;  ///< end of the last pass, s
  std::vector<RankUse> ranks;
  std::vector<std::vector<ReplayEvent>> timeline;  ///< by rank, in order of start
};

/// Plays every rank's order table, each pass as soon as its rank is free and its input has come. Exact for the
/// order; costs pp * vpp * microbatches steps. The schedule's group must be at least pp where vpp > 1 (else it
/// deadlocks: asserted).
Replay play(const ReplayInput& input);

/// A rank's live activations after each of its passes, counted from the timeline: alive from the start of the
/// forward to the end of the backward. `pairs`: combined 1F1B, where a steady forward and the backward after it
/// are one moment.
std::vector<LiveCount> live_over_time(const Replay& replay, int rank, int vpp, bool pairs = false);

}  // namespace shardfit::replay
