// SPDX-License-Identifier: Apache-2.0
#include "search/axis_values.hpp"

namespace shardfit::search {

double size_on(LayoutAxis axis, const Layout& l) {
  switch (axis) {
    case LayoutAxis::tp: return l.tp;
    case LayoutAxis::cp: return l.cp;
    case LayoutAxis::ep: return l.ep;
    case LayoutAxis::etp: return l.etp;
    case LayoutAxis::micro_batch_size: return l.micro_batch_size;
    case LayoutAxis::pp: return l.pp;
    case LayoutAxis::vpp: return l.vpp;
    case LayoutAxis::optimizer_instances: return l.optimizer_instances;
    case LayoutAxis::optimizer_offload: return l.offload.optimizer_fraction;
    default: return 0;
  }
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
  switch (axis) {
    case LayoutAxis::dispatcher: return a.dispatcher == b.dispatcher;
    case LayoutAxis::cp_comm_type: return a.cp_comm_type == b.cp_comm_type;
    case LayoutAxis::split: return a.split == b.split;
    case LayoutAxis::sharding: return a.sharding == b.sharding;
    case LayoutAxis::recompute: return a.recompute == b.recompute;
    case LayoutAxis::cuda_graph: return a.cuda_graph == b.cuda_graph;
    case LayoutAxis::expert_overlap: return a.overlap.expert_alltoall == b.overlap.expert_alltoall;
    default: return size_on(axis, a) == size_on(axis, b);
  }
}

int axes_changed(const Layout& from, const Layout& to) {
  int changed = 0;
  for (std::size_t i = 0; i < kCount<LayoutAxis>; ++i) changed += !same_on(LayoutAxis(i), from, to);
  return changed;
}

}  // namespace shardfit::search
