// SPDX-License-Identifier: Apache-2.0
// Flows over leaves counted by hand on 16 nodes of 8 GPUs, 4 nodes a scalable unit.
#include <doctest/doctest.h>

#include "sample_hardware.hpp"
#include "topology/cluster.hpp"

using namespace shardfit;
using topology::Cluster;

namespace {
HardwareSpec small_units(double oversubscription) {
  HardwareSpec h = hgx_b200();
  h.fabric.nodes_per_leaf_group = 4;
  h.fabric.spines = 2;
  h.fabric.oversubscription.value = oversubscription;
  return h;
}
double network(double oversubscription, topology::RankPattern pattern) {
  return Cluster(small_units(oversubscription), 128).links(pattern).network.value / kGB;
}
double alltoall(double oversubscription, topology::RankPattern pattern) {
  return Cluster(small_units(oversubscription), 128).links(pattern).network_alltoall.value / kGB;
}
}  // namespace

TEST_CASE("pipeline stages in other units load every uplink: oversubscription costs in full") {
  // pp 4, stride 32: every rank of a unit sends to the next unit: 4 flows on a leaf that carries 4 / oversubscription.
  CHECK(network(1, {4, 32}) == doctest::Approx(50));
  CHECK(network(2, {4, 32}) == doctest::Approx(25));
  CHECK(network(4, {4, 32}) == doctest::Approx(12.5));
}

TEST_CASE("one ring over everything crosses each unit's edge once a rail") {
  // dp 16, stride 8: 8 groups, each on its rail; node 3 to node 4 is the one flow of four over the spine.
  CHECK(network(4, {16, 8}) == doctest::Approx(50));
  CHECK(network(8, {16, 8}) == doctest::Approx(25));  // uplinks of half a NIC for one flow
}

TEST_CASE("groups inside a unit do not feel oversubscription") {
  CHECK(network(8, {4, 8}) == doctest::Approx(50));
  CHECK(alltoall(8, {32, 1}) == doctest::Approx(50));
}

TEST_CASE("all-to-all leaves the unit with the part of its peers that are elsewhere") {
  // 128 members: of the 120 outside a rank's node, 96 are in other units: 4 * 0.8 = 3.2 NIC rates a leaf.
  CHECK(alltoall(1, {128, 1}) == doctest::Approx(50));
  CHECK(alltoall(2, {128, 1}) == doctest::Approx(50 * 2 / 3.2));
}

TEST_CASE("a shift that changes rail keeps one flow a NIC") {
  // 12 apart: ranks 0-3 meet 12-15 (rails 4-7 of node 1), ranks 4-7 meet 16-19 (rails 0-3 of node 2).
  CHECK(network(1, {2, 12}) == doctest::Approx(50));
}

TEST_CASE("what binds is named: the NIC, or uplinks that groups share") {
  const auto links = [](double oversubscription) { return Cluster(small_units(oversubscription), 128).links({4, 32}); };
  using topology::SharedLink;
  CHECK(links(1).bound_by == SharedLink::none);
  CHECK(links(2).bound_by == SharedLink::leaf_uplink);
  CHECK(Cluster(small_units(8), 128).links({4, 8}).bound_by == SharedLink::none);  // inside a unit
  CHECK(Cluster(small_units(2), 128).links({128, 1}).bound_by_alltoall == SharedLink::leaf_uplink);
}

TEST_CASE("spare nodes hold no rank, and leave their uplinks to the others") {
  HardwareSpec h = small_units(2);
  h.fabric.spare_nodes_per_leaf_group = 1;  // 3 of 4 nodes of a unit in use
  const Cluster c(h, 96);
  CHECK(c.pair_class(0, 23) == topology::PairClass::same_unit_other_rail);
  CHECK(c.pair_class(0, 24) == topology::PairClass::other_unit);
  // Stages in other units: 3 flows on a leaf whose uplinks carry 4 / 2.
  CHECK(c.links({4, 24}).network.value / kGB == doctest::Approx(50 * 2 / 3.0));
}
