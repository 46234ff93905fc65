// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "estimate/stages.hpp"

namespace shardfit::estimate {

/// One pipeline stage's work on one micro-batch, and the time it takes, s.
struct StageLoad {
  PassTime forward, backward, rerun;       ///< decoder, embedding, head and MTP
  double vision_forward = 0, vision_backward = 0;   ///< tower and projector with their waits, beside the decoder
  double ep_hidden = 0;                    ///< share of the hideable expert traffic that expert overlap hides
  double offload_exposed = 0;              ///< activation offload that does not fit behind compute
  double forward_s = 0, backward_s = 0;    ///< all of it, host included where it binds
  double host_extra = 0;                   ///< of that, what the host adds beyond the device
  double total() const { return forward_s + backward_s; }
};

StageLoad stage_load(const Problem& problem, Evaluation& evaluation, const Layout& layout, const GridSizes& grid,
                     int stage);

/// Device and host of one pass, of which the longer decides: (a^6 + b^6)^(1/6), a soft maximum.
double soft_max(double device, double host);

/// Rank groups that must have seen their images before the decoder of one can go on: what the slowest waits for.
/// FSDP: all data-parallel ranks (each layer gathers); else the replicas that an expert group spans.
int ranks_waiting_for_images(const Layout& layout, const GridSizes& grid);

}  // namespace shardfit::estimate
