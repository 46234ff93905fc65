// SPDX-License-Identifier: Apache-2.0
//
// Computes    what data-parallel traffic costs a step.
// Formula     reductions hide behind the last backward, gathers behind the first forward (FSDP: behind every micro-batch),
//             if the layout overlaps them; what hides slows compute by the overlap coefficient. What follows the reduction
//             is exposed.
// Source      Megatron-LM core/distributed/param_and_grad_buffer.py.
// Valid when  buckets are small against the window.
// Ignores     that late pipeline stages reduce in their bubble; FSDP's first gather and last reduction, which nothing hides.
// Checked by  tests/estimate, tests/measured.

#include "estimate/gradient_traffic.hpp"

#include <algorithm>

namespace shardfit::estimate {
namespace {

void hide(DataParallelTime& t, double seconds, double window, bool overlaps) {
  const double hidden = overlaps ? std::min(seconds, window) : 0;
  t.hidden += hidden;
  t.exposed += seconds - hidden;
}
}  // namespace

DataParallelTime data_parallel_time(const Layout& layout, const GridSizes& grid, double reductions, double gathers,
                                    double forward_s, double backward_s) {
  DataParallelTime t;
  if (layout.sharding == Sharding::full || layout.sharding == Sharding::full_torch) {
    hide(t, reductions + gathers, (forward_s + backward_s) * grid.microbatches, true);
    return t;
  }
  // Sharded gradients are reduced as they come, whatever the layout says: see the alteration fsdp_overlap_on.
  const bool sharded = layout.sharding == Sharding::optimizer_grads;
  hide(t, reductions, backward_s * (sharded ? grid.microbatches : 1), layout.overlap.grad_reduce || sharded);
  hide(t, gathers, forward_s, layout.overlap.param_gather);
  return t;
}

}  // namespace shardfit::estimate
