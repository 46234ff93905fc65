// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "sample_links.hpp"

using namespace shardfit;
using block::CollectiveKind;
using block::Group;
using block::Hides;

namespace {
block::Traffic call(Group group, CollectiveKind kind, Hides hides, double bytes, double calls = 1) {
  block::Traffic t;
  t.group = group;
  t.kind = kind;
  t.hides = hides;
  t.bytes = bytes;
  t.calls = calls;
  return t;
}
}  // namespace

TEST_CASE("traffic lands in the slot of its group and of what it hides behind, times its calls") {
  comm::LayoutLinks links;
  links[Group::tp] = one_domain(4, 900);
  links[Group::cp] = one_domain(2, 900);
  links[Group::etp] = one_domain(2, 900);
  const comm::Network network = network_of(GpuGeneration::blackwell);
  block::Work work;
  work.traffic = {call(Group::tp, CollectiveKind::all_gather, Hides::nothing, 64e6, 3),
                  call(Group::tp, CollectiveKind::reduce_scatter, Hides::gemm, 64e6),
                  call(Group::cp, CollectiveKind::send_recv, Hides::attention, 32e6),
                  call(Group::cp, CollectiveKind::all_to_all, Hides::nothing, 32e6),
                  call(Group::etp, CollectiveKind::all_gather, Hides::expert_overlap, 16e6)};
  const comm::TrafficTime t = comm::time_of(work, links, network);
  CHECK(t.tp == 3 * comm::collective_time(CollectiveKind::all_gather, 64e6, links[Group::tp], network));
  CHECK(t.tp_hidden == comm::collective_time(CollectiveKind::reduce_scatter, 64e6, links[Group::tp], network));
  CHECK(t.cp_hidden == comm::collective_time(CollectiveKind::send_recv, 32e6, links[Group::cp], network));
  CHECK(t.cp == comm::collective_time(CollectiveKind::all_to_all, 32e6, links[Group::cp], network));
  CHECK(t.ep == comm::collective_time(CollectiveKind::all_gather, 16e6, links[Group::etp], network));
}

TEST_CASE("axes of size one cost nothing") {
  block::Work work;
  for (const Group g : {Group::tp, Group::cp, Group::ep, Group::etp, Group::tp_ep})
    work.traffic.push_back(call(g, CollectiveKind::all_reduce, Hides::nothing, 1e9));
  const comm::TrafficTime t = comm::time_of(work, comm::LayoutLinks{}, network_of(GpuGeneration::hopper));
  CHECK(t.tp + t.tp_hidden + t.ep + t.cp + t.cp_hidden == 0);
}

TEST_CASE("the network takes its coefficients from the job and its library from the layout") {
  Job job;
  job.hardware.gpu.generation = GpuGeneration::blackwell;
  job.time.values[Coefficient::dispatch_nvlink].value = 0.88;
  job.time.values[Coefficient::alltoall_rate].value = 0.91;
  job.time.values[Coefficient::dispatch_network].value = 0.94;
  Layout layout;
  layout.dispatcher = Dispatcher::deepep;
  const comm::Network n = comm::make_network(job, layout);
  CHECK(n.dispatch_nvlink == 0.88);
  CHECK(n.alltoall_rate == 0.91);
  CHECK(n.dispatch_network == 0.94);
  CHECK(n.generation == GpuGeneration::blackwell);
  CHECK(comm::sms_taken(n) == 20);
  layout.dispatcher_sms = 32;
  CHECK(comm::sms_taken(comm::make_network(job, layout)) == 32);
}
