// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "sample_links.hpp"

using namespace shardfit;
using block::CollectiveKind;
using comm::Bound;

namespace {
block::Traffic call(CollectiveKind kind, double bytes) {
  block::Traffic t;
  t.kind = kind;
  t.bytes = bytes;
  return t;
}
}  // namespace

TEST_CASE("large messages are bound by the link they cross, small ones by latency") {
  const comm::Network network = network_of(GpuGeneration::blackwell);
  CHECK(comm::bound_of(call(CollectiveKind::all_gather, 1e9), one_domain(8, 900), network) == Bound::nvlink);
  CHECK(comm::bound_of(call(CollectiveKind::all_gather, 1e5), one_domain(8, 900), network) == Bound::latency);
  CHECK(comm::bound_of(call(CollectiveKind::all_gather, 1e9), across(4, 8, 900, 50), network) == Bound::nic);
  CHECK(comm::bound_of(call(CollectiveKind::all_to_all, 1e9), across(4, 8, 900, 50), network) == Bound::nic);
  CHECK(comm::bound_of(call(CollectiveKind::all_gather, 1e9), one_domain(1, 900), network) == Bound::nothing);
}

TEST_CASE("middle sizes belong to their link once the fixed cost is less than half") {
  const comm::Network network = network_of(GpuGeneration::blackwell);
  const auto links = one_domain(2, 900);
  double bytes = 1e4;
  while (comm::bound_of(call(CollectiveKind::all_gather, bytes), links, network) == Bound::latency) bytes *= 1.1;
  const auto time_of = [&](double b) { return comm::collective_time(CollectiveKind::all_gather, b, links, network); };
  CHECK(time_of(bytes) >= 2 * time_of(1));
  CHECK(time_of(bytes / 1.1) < 2 * time_of(1));
  CHECK(comm::bound_of(call(CollectiveKind::all_gather, bytes), links, network) == Bound::nvlink);
}

TEST_CASE("uplinks that groups share bind in place of the NIC, by the pattern") {
  const comm::Network network = network_of(GpuGeneration::blackwell);
  topology::GroupLinks links = across(4, 8, 900, 25);
  links.bound_by = topology::SharedLink::leaf_uplink;
  links.bound_by_alltoall = topology::SharedLink::core_uplink;
  CHECK(comm::bound_of(call(CollectiveKind::all_gather, 1e9), links, network) == Bound::leaf_uplink);
  CHECK(comm::bound_of(call(CollectiveKind::all_to_all, 1e9), links, network) == Bound::core_uplink);
}

TEST_CASE("DeepEP in one node of B200 is bound by its SMs, HybridEP by NVLink, either by the NIC over many nodes") {
  block::Traffic t = call(CollectiveKind::dispatch, 0);
  t.tokens = 4096;
  t.width_bytes = 14336;
  t.top_k = 8;
  t.num_experts = 256;
  comm::Network network = network_of(GpuGeneration::blackwell);
  network.dispatcher = Dispatcher::deepep;
  CHECK(comm::bound_of(t, one_domain(8, 900), network) == Bound::sms);
  CHECK(comm::bound_of(t, across(8, 8, 900, 50), network) == Bound::nic);
  network.dispatcher = Dispatcher::hybridep;
  CHECK(comm::bound_of(t, one_domain(64, 900), network) == Bound::nvlink);
}
