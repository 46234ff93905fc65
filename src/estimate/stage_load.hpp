// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "estimate/evaluation.hpp"

namespace shardfit::estimate {

/// What all parts of a stage but vision add up to, one micro-batch.
struct StageSums {
  PassLoad forward, backward, rerun;
  double copy = 0;                 ///< host copies of offloaded activations, one way, s
};
StageSums stage_sums(const Problem& problem, const Evaluation& evaluation, const Layout& layout, int stage);

/// Tower and projector with their waits, beside the decoder, s.
struct VisionSeconds { double forward = 0, backward = 0; };
VisionSeconds vision_seconds(const Evaluation& evaluation, const Layout& layout, const GridSizes& grid);

/// The time that a stage takes for one micro-batch.
struct StageSeconds {
  double forward_s = 0, backward_s = 0;    ///< all of it, host included where it binds
  double host_extra = 0;                   ///< of that, what the host adds beyond the device
  double offload_exposed = 0;              ///< activation offload that does not fit behind compute
  VisionSeconds vision;
  double ep_hidden = 0;                    ///< share of the hideable expert traffic that expert overlap hides
  double rerun_s = 0;                      ///< of backward_s, what recompute runs again on the device
  double total() const { return forward_s + backward_s; }
};
StageSeconds stage_seconds(const Problem& problem, const Evaluation& evaluation, const Layout& layout,
                           const GridSizes& grid, int stage, const StageSums& sums);

/// Every term of a stage's passes: decoder, embedding, head and MTP; what recompute runs again is apart. `copy`: of the
/// stage's sums.
struct StagePasses { PassTime forward, backward; };
StagePasses stage_passes(const Evaluation& evaluation, int stage, double copy);

/// Layers of a kind on a stage that full recompute runs again.
int rerun_layers(const Problem& problem, const Evaluation& evaluation, const Recompute& recompute, int stage, int kind);

/// Bytes of activations that one micro-batch sends to the host, and fetches back.
Bytes offloaded_activations(const Problem& problem, const Evaluation& evaluation, const Layout& layout, int stage);

/// Device and host of one pass, of which the longer decides: (a^6 + b^6)^(1/6), a soft maximum.
double soft_max(double device, double host);

/// Rank groups that must have seen their images before the decoder of one can go on: what the slowest waits for.
/// FSDP: all data-parallel ranks that share the parameters (each layer gathers); else the replicas that an expert group spans.
int ranks_waiting_for_images(const Layout& layout, const GridSizes& grid);

/// Load of the slowest rank over the average, for micro-batches whose visual tokens have this `spread`: the slowest of the
/// ranks that meet in each micro-batch, times the slowest of such groups over a whole step, for which the others wait at its end.
double image_wait(const Layout& layout, const GridSizes& grid, double spread);

}  // namespace shardfit::estimate
