// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "estimate/evaluation.hpp"

namespace shardfit::estimate {

StageSums stage_sums(const Problem& problem, const Evaluation& evaluation, const Layout& layout, int stage);

/// Tower and projector beside the decoder. `wait`: image_wait.
VisionSeconds vision_seconds(const Evaluation& evaluation, double wait);

/// The time of a stage with these sums. `pairs`: share of its passes that combined 1F1B pairs; `wait`: image_wait.
StageSeconds stage_seconds(const Problem& problem, const Evaluation& evaluation, int stage, const StageSums& sums, double pairs,
                           double wait);

/// Every term of a stage's passes: decoder, embedding, head and MTP; what recompute runs again is apart. `copy`: of the
/// stage's sums.
struct StagePasses {
  PassTime forward, backward;
};
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
/// ranks that meet in each micro-batch, times the slowest of such groups over a whole step, for which the others wait at
/// its end.
double image_wait(const Layout& layout, const GridSizes& grid, double spread);
/// The same of the layout at hand, worked out once a placement; 1 without a tower.
double image_wait(const Problem& problem, Evaluation& evaluation, const Layout& layout, const GridSizes& grid);

}  // namespace shardfit::estimate
