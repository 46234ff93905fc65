// SPDX-License-Identifier: Apache-2.0
//
// Computes    what data-parallel traffic costs a step.
// Formula     reductions hide behind 0.6 of the last micro-batch, gathers behind 0.3 of the first (FSDP: behind 0.9 of
//             every micro-batch), if the layout overlaps them; what hides slows compute by the overlap coefficient. What
//             follows the reduction is exposed.
// Source      windows: step-time study of published runs.
// Valid when  buckets are small against the window.
// Ignores     that late pipeline stages reduce in their bubble.
// Checked by  tests/estimate, tests/measured.

#include "estimate/gradient_traffic.hpp"

#include <algorithm>

namespace shardfit::estimate {
namespace {
constexpr double kGradientWindow = 0.6;   // assumed with the fit: share of a micro-batch that backward buckets can use
constexpr double kParameterWindow = 0.3;  // assumed with the fit: share that the first forward can use
constexpr double kFsdpWindow = 0.9;       // assumed with the fit: share of the step that unit-wise traffic can use

void hide(DataParallelTime& t, double seconds, double window, bool overlaps) {
  const double hidden = overlaps ? std::min(seconds, window) : 0;
  t.hidden += hidden;
  t.exposed += seconds - hidden;
}
}  // namespace

DataParallelTime data_parallel_time(const Layout& layout, const GridSizes& grid, double reductions, double gathers,
                                    double microbatch_s) {
  DataParallelTime t;
  if (layout.sharding == Sharding::full || layout.sharding == Sharding::full_torch) {
    hide(t, reductions + gathers, kFsdpWindow * microbatch_s * grid.microbatches, true);
    return t;
  }
  const double windows = layout.sharding == Sharding::optimizer_grads ? grid.microbatches : 1;
  hide(t, reductions, kGradientWindow * microbatch_s * windows, layout.overlap.grad_reduce);
  hide(t, gathers, kParameterWindow * microbatch_s, layout.overlap.param_gather);
  return t;
}

}  // namespace shardfit::estimate
