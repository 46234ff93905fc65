// SPDX-License-Identifier: Apache-2.0
#include "search/space.hpp"

namespace shardfit::search {

Digits radices(const SearchSpace& s) {
  Digits r{};
  const auto set = [&r](Axis axis, std::size_t n) { r[axis] = std::uint32_t(n); };
  set(Axis::tp, s.tp.size());
  set(Axis::cp, s.cp.size());
  set(Axis::ep, s.ep.size());
  set(Axis::etp, s.etp.size());
  set(Axis::micro_batch_size, s.micro_batch_size.size());
  set(Axis::dispatcher, s.dispatcher.size());
  set(Axis::cp_comm_type, s.cp_comm_type.size());
  set(Axis::recompute, s.recompute.size());
  set(Axis::cuda_graph, s.cuda_graph.size());
  set(Axis::expert_overlap, s.expert_alltoall_overlap.size());
  set(Axis::optimizer_offload, s.optimizer_offload.size());
  set(Axis::pp, s.pp.size());
  set(Axis::vpp, s.vpp.size());
  set(Axis::split, s.split.size());
  set(Axis::sharding, s.sharding.size());
  set(Axis::optimizer_instances, s.optimizer_instances.size());
  return r;
}

void apply_digit(const Scenario& scenario, Axis axis, std::uint32_t d, Layout& l) {
  const SearchSpace& s = scenario.space;
  switch (axis) {
    case Axis::tp:
      l.tp = s.tp[d];
      l.sequence_parallel = scenario.base.sequence_parallel && l.tp > 1;  // Megatron switches it off without TP
      break;
    case Axis::cp: l.cp = s.cp[d]; break;
    case Axis::ep: l.ep = s.ep[d]; break;
    case Axis::etp: l.etp = s.etp[d]; break;
    case Axis::micro_batch_size: l.micro_batch_size = s.micro_batch_size[d]; break;
    case Axis::dispatcher: l.dispatcher = s.dispatcher[d]; break;
    case Axis::cp_comm_type: l.cp_comm_type = s.cp_comm_type[d]; break;
    case Axis::recompute: l.recompute = s.recompute[d]; break;
    case Axis::cuda_graph: l.cuda_graph = s.cuda_graph[d]; break;
    case Axis::expert_overlap:
      l.overlap.expert_alltoall = s.expert_alltoall_overlap[d];
      // Delayed weight gradients exist only under expert overlap.
      l.overlap.delay_wgrad = scenario.base.overlap.delay_wgrad && l.overlap.expert_alltoall;
      break;
    case Axis::optimizer_offload: l.offload.optimizer_fraction = s.optimizer_offload[d]; break;
    case Axis::pp: l.pp = s.pp[d]; break;
    case Axis::vpp: l.vpp = s.vpp[d]; break;
    case Axis::split: l.split = s.split[d]; break;
    case Axis::sharding: l.sharding = s.sharding[d]; break;
    case Axis::optimizer_instances: l.optimizer_instances = s.optimizer_instances[d]; break;
    case Axis::count: break;
  }
}

Digits digits_of(const Digits& radix, std::uint64_t index) {
  Digits d{};
  for (std::size_t i = kAxes; i-- > 0;) {
    const Axis axis = static_cast<Axis>(i);
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
  for (std::size_t i = 0; i < search::kAxes; ++i)
    search::apply_digit(scenario, static_cast<search::Axis>(i), digits[static_cast<search::Axis>(i)], layout);
  return layout;
}

}  // namespace shardfit
