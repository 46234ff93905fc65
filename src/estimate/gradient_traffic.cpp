// SPDX-License-Identifier: Apache-2.0
//
// Computes    what data-parallel traffic costs a step.
// Formula     reductions hide behind the last backward, gathers behind the first forward (FSDP: behind 0.9 of every
//             micro-batch), if the layout overlaps them; what hides slows compute by the overlap coefficient. What
//             follows the reduction is exposed.
// Source      Megatron-LM core/distributed/param_and_grad_buffer.py; FSDP's window: step-time study of published runs.
// Valid when  buckets are small against the window.
// Ignores     that late pipeline stages reduce in their bubble.
// Checked by  tests/estimate, tests/measured.

#include "estimate/gradient_traffic.hpp"

#include <algorithm>

namespace shardfit::estimate {
namespace {
constexpr double kFsdpWindow = 0.9;       // assumed with the fit: share of the step that unit-wise traffic can use

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
    hide(t, reductions + gathers, kFsdpWindow * (forward_s + backward_s) * grid.microbatches, true);
    return t;
  }
  const double windows = layout.sharding == Sharding::optimizer_grads ? grid.microbatches : 1;
  hide(t, reductions, backward_s * windows, layout.overlap.grad_reduce);
  hide(t, gathers, forward_s, layout.overlap.param_gather);
  return t;
}

}  // namespace shardfit::estimate
