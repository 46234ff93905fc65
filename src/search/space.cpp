// SPDX-License-Identifier: Apache-2.0
#include "search/space.hpp"

#include <string>

#include "shardfit/base/error.hpp"

namespace shardfit::search {

Digits radices(const SearchSpace& s) {
  Digits r{};
  const auto set = [&r](LayoutAxis axis, std::size_t n) { r[axis] = std::uint32_t(n); };
  set(LayoutAxis::tp, s.tp.size());
  set(LayoutAxis::cp, s.cp.size());
  set(LayoutAxis::ep, s.ep.size());
  set(LayoutAxis::etp, s.etp.size());
  set(LayoutAxis::micro_batch_size, s.micro_batch_size.size());
  set(LayoutAxis::dispatcher, s.dispatcher.size());
  set(LayoutAxis::cp_comm_type, s.cp_comm_type.size());
  set(LayoutAxis::recompute, s.recompute.size());
  set(LayoutAxis::cuda_graph, s.cuda_graph.size());
  set(LayoutAxis::expert_overlap, s.expert_alltoall_overlap.size());
  set(LayoutAxis::optimizer_offload, s.optimizer_offload.size());
  set(LayoutAxis::pp, s.pp.size());
  set(LayoutAxis::vpp, s.vpp.size());
  set(LayoutAxis::split, s.split.size());
  set(LayoutAxis::sharding, s.sharding.size());
  set(LayoutAxis::optimizer_instances, s.optimizer_instances.size());
  return r;
}

void apply_digit(const Scenario& scenario, LayoutAxis axis, std::uint32_t d, Layout& l) {
  const SearchSpace& s = scenario.space;
  switch (axis) {
    case LayoutAxis::tp:
      l.tp = s.tp[d];
      l.sequence_parallel = scenario.sequence_parallel_above_tp_1 && l.tp > 1;  // Megatron switches it off without TP
      break;
    case LayoutAxis::cp: l.cp = s.cp[d]; break;
    case LayoutAxis::ep: l.ep = s.ep[d]; break;
    case LayoutAxis::etp: l.etp = s.etp[d]; break;
    case LayoutAxis::micro_batch_size: l.micro_batch_size = s.micro_batch_size[d]; break;
    case LayoutAxis::dispatcher: l.dispatcher = s.dispatcher[d]; break;
    case LayoutAxis::cp_comm_type: l.cp_comm_type = s.cp_comm_type[d]; break;
    case LayoutAxis::recompute: l.recompute = s.recompute[d]; break;
    case LayoutAxis::cuda_graph: l.cuda_graph = s.cuda_graph[d]; break;
    case LayoutAxis::expert_overlap:
      l.overlap.expert_alltoall = s.expert_alltoall_overlap[d];
      // Delayed weight gradients exist only under expert overlap.
      // Goes with expert overlap where that is searched; where it is not, a rule refuses it alone.
      l.overlap.delay_wgrad = scenario.base.overlap.delay_wgrad &&
                              (l.overlap.expert_alltoall || s.expert_alltoall_overlap.size() == 1);
      break;
    case LayoutAxis::optimizer_offload: l.offload.optimizer_fraction = s.optimizer_offload[d]; break;
    case LayoutAxis::pp: l.pp = s.pp[d]; break;
    case LayoutAxis::vpp: l.vpp = s.vpp[d]; break;
    case LayoutAxis::split: l.split = s.split[d]; break;
    case LayoutAxis::sharding: l.sharding = s.sharding[d]; break;
    case LayoutAxis::optimizer_instances: l.optimizer_instances = s.optimizer_instances[d]; break;
    case LayoutAxis::count: break;
  }
}

Strides strides(const Digits& radix) {
  Strides below{};
  std::uint64_t n = 1;
  for (std::size_t i = kAxes; i-- > 0;) {
    below[LayoutAxis(i)] = n;
    n *= radix[LayoutAxis(i)];
  }
  return below;
}

void require_positive(const SearchSpace& s) {
  for (const std::vector<int>* axis : {&s.tp, &s.cp, &s.pp, &s.vpp, &s.ep, &s.etp, &s.micro_batch_size, &s.optimizer_instances})
    for (int value : *axis)
      if (value < 1) throw InputError("", "search", std::to_string(value), "sizes of at least 1");
}

Digits digits_of(const Digits& radix, std::uint64_t index) {
  Digits d{};
  for (std::size_t i = kAxes; i-- > 0;) {
    const LayoutAxis axis = LayoutAxis(i);
    d[axis] = std::uint32_t(index % radix[axis]);
    index /= radix[axis];
  }
  return d;
}

}  // namespace shardfit::search

namespace shardfit {

std::uint64_t space_size(const SearchSpace& space) {
  std::uint64_t n = 1;
  for (std::uint32_t r : search::radices(space)) n *= r;
  return n;
}

Layout layout_at(const Scenario& scenario, std::uint64_t index) {
  const search::Digits digits = search::digits_of(search::radices(scenario.space), index);
  Layout layout = scenario.base;
  for (std::size_t i = 0; i < search::kAxes; ++i) search::apply_digit(scenario, LayoutAxis(i), digits[LayoutAxis(i)], layout);
  return layout;
}

}  // namespace shardfit
