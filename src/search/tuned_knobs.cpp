// SPDX-License-Identifier: Apache-2.0
#include "search/axis_values.hpp"
#include "search/even_split.hpp"
#include "search/families.hpp"

namespace shardfit::search {
namespace {

/// Where a run starts: sizes 1, everything else as the stack has it and no memory saved.
Layout untuned(const Scenario& scenario, const Layout& of) {
  Layout l = of;
  l.tp = l.cp = l.pp = l.vpp = l.ep = l.etp = l.micro_batch_size = l.optimizer_instances = 1;
  l.split = {};
  l.recompute = {};
  l.cuda_graph = {};
  l.offload.optimizer_fraction = 0;
  l.overlap.expert_alltoall = l.overlap.delay_wgrad = false;
  l.dispatcher = scenario.base.dispatcher;
  l.cp_comm_type = scenario.base.cp_comm_type;
  return l;
}

}  // namespace

std::vector<TunedKnob> tuned_knobs(const Scenario& scenario, const Estimator& estimator, const Layout& best) {
  Layout start = untuned(scenario, best);
  start.split = most_even_split(scenario, best);
  Estimator::Workspace workspace;
  const Quick here = estimator.quick(best, workspace);
  std::vector<TunedKnob> knobs;
  for (std::size_t i = 0; i < kCount<LayoutAxis>; ++i) {
    const LayoutAxis axis = LayoutAxis(i);
    if (axis == LayoutAxis::sharding || same_on(axis, start, best)) continue;
    AxisStep back{try_layout(estimator, with_axis(axis, start, best), workspace), axis};
    if (!back.refused) back.loss = back.quick.step_time_s / here.step_time_s - 1;
    if (!back.runs() || back.loss > kNoDifference) knobs.push_back({axis, back});
  }
  return knobs;
}

}  // namespace shardfit::search
