// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "schedule/live_chunks.hpp"

namespace shardfit::schedule {

/// Where the time of a step's micro-batches goes, s. The sum is the time from the first forward to the last
/// backward.
struct StepTime {
  double busy = 0;    ///< micro-batches times the slowest stage
  double bubble = 0;  ///< that stage waiting for others: filling, draining, turning round
  double p2p = 0;     ///< what transfers between stages add
  double total() const { return busy + bubble + p2p; }
};

/// Time of all micro-batches of a step for stages that differ. `forward`, `backward`: pp seconds each, of one
/// micro-batch through all of a stage's chunks (a chunk gets a vpp-th). `p2p_each_way`: seconds of one
/// transfer of one chunk's tensor across one boundary. Without interleaving the sender waits for it;
/// interleaved it runs beside compute.
StepTime step_time(const PipelineShape& shape, std::span<const double> forward, std::span<const double> backward,
                   double p2p_each_way);

/// The same with room that is kept from one call to the next: no allocation once it has grown. One thread's.
class StepTimer {
 public:
  StepTimer();
  ~StepTimer();
  StepTime time(const PipelineShape& shape, std::span<const double> forward, std::span<const double> backward,
                double p2p_each_way);

 private:
  struct Paths;
  std::unique_ptr<Paths> paths_;
};

/// Share of a stage's chunk passes that combined 1F1B pairs: a forward with another micro-batch's backward.
/// Warm-up and cool-down passes have no partner, so their expert traffic stays exposed. 0 without expert
/// overlap.
double combined_1f1b_pairs(const PipelineShape& shape, int stage);

}  // namespace shardfit::schedule
