// SPDX-License-Identifier: Apache-2.0
#include "search/axis_values.hpp"

#include <type_traits>

namespace shardfit::search {

namespace {

/// Calls f(field), where field(layout) is what an axis sets of a layout.
template <class F>
auto on_field(LayoutAxis axis, F f) {
  switch (axis) {
    case LayoutAxis::tp: return f([](auto& l) -> auto& { return l.tp; });
    case LayoutAxis::cp: return f([](auto& l) -> auto& { return l.cp; });
    case LayoutAxis::ep: return f([](auto& l) -> auto& { return l.ep; });
    case LayoutAxis::etp: return f([](auto& l) -> auto& { return l.etp; });
    case LayoutAxis::micro_batch_size: return f([](auto& l) -> auto& { return l.micro_batch_size; });
    case LayoutAxis::dispatcher: return f([](auto& l) -> auto& { return l.dispatcher; });
    case LayoutAxis::cp_comm_type: return f([](auto& l) -> auto& { return l.cp_comm_type; });
    case LayoutAxis::pp: return f([](auto& l) -> auto& { return l.pp; });
    case LayoutAxis::vpp: return f([](auto& l) -> auto& { return l.vpp; });
    case LayoutAxis::split: return f([](auto& l) -> auto& { return l.split; });
    case LayoutAxis::sharding: return f([](auto& l) -> auto& { return l.sharding; });
    case LayoutAxis::optimizer_instances: return f([](auto& l) -> auto& { return l.optimizer_instances; });
    case LayoutAxis::optimizer_offload: return f([](auto& l) -> auto& { return l.offload.optimizer_fraction; });
    case LayoutAxis::recompute: return f([](auto& l) -> auto& { return l.recompute; });
    case LayoutAxis::cuda_graph: return f([](auto& l) -> auto& { return l.cuda_graph; });
    case LayoutAxis::expert_overlap:
    case LayoutAxis::count: break;
  }
  return f([](auto& l) -> auto& { return l.overlap.expert_alltoall; });
}

}  // namespace

double size_on(LayoutAxis axis, const Layout& l) {
  if (!is_ordered(axis)) return 0;
  return on_field(axis, [&](auto field) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(field(l))>>)
      return double(field(l));
    else
      return 0.0;
  });
}

bool is_ordered(LayoutAxis axis) {
  switch (axis) {
    case LayoutAxis::dispatcher:
    case LayoutAxis::cp_comm_type:
    case LayoutAxis::split:
    case LayoutAxis::sharding:
    case LayoutAxis::recompute:
    case LayoutAxis::cuda_graph:
    case LayoutAxis::expert_overlap:
    case LayoutAxis::count: return false;
    default: return true;
  }
}

bool same_on(LayoutAxis axis, const Layout& a, const Layout& b) {
  return on_field(axis, [&](auto field) { return field(a) == field(b); });
}

Layout with_axis(LayoutAxis axis, const Layout& other, Layout layout) {
  on_field(axis, [&](auto field) { field(layout) = field(other); });
  layout.sequence_parallel = layout.sequence_parallel && layout.tp > 1;
  layout.overlap.delay_wgrad = layout.overlap.delay_wgrad && layout.overlap.expert_alltoall;
  return layout;
}

int axes_changed(const Layout& from, const Layout& to) {
  int changed = 0;
  for (std::size_t i = 0; i < kCount<LayoutAxis>; ++i) changed += !same_on(LayoutAxis(i), from, to);
  return changed;
}

}  // namespace shardfit::search
