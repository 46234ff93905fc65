// SPDX-License-Identifier: Apache-2.0
// A third switch tier, counted by hand: 2 scalable units of 4 HGX nodes a pod, 4 pods on 256 GPUs.
#include <doctest/doctest.h>

#include <algorithm>

#include "max_flow.hpp"
#include "sample_hardware.hpp"
#include "topology/cluster.hpp"

using namespace shardfit;
using topology::Cluster;
using topology::LinkKind;
using topology::PairClass;
using topology::SharedLink;
using topology::VertexKind;

namespace {
HardwareSpec pods(double core_oversubscription, double leaf_oversubscription = 1) {
  HardwareSpec h = hgx_b200();
  h.fabric.nodes_per_leaf_group = 4;
  h.fabric.spines = 2;
  h.fabric.oversubscription.value = leaf_oversubscription;
  h.fabric.core = {.units_per_pod = 2, .switches = 4, .oversubscription = {core_oversubscription, FigureKind::assumed, ""}};
  return h;
}
}  // namespace

TEST_CASE("spines of a pod meet the others' in core switches: two switches and 2.3 us more") {
  const Cluster c(pods(1), 256);
  CHECK(c.pair_class(0, 24) == PairClass::same_unit);
  CHECK(c.pair_class(0, 32) == PairClass::other_unit);
  CHECK(c.pair_class(0, 64) == PairClass::other_pod);
  CHECK(c.pair_class(0, 65) == PairClass::other_pod_other_rail);
  CHECK(c.route(0, 32).network_switches == 3);
  CHECK_FALSE(c.route(0, 32).over_core);
  CHECK(c.route(0, 64).network_switches == 5);
  CHECK(c.route(0, 64).over_core);
  CHECK(in_us(c.route(0, 64).latency) == doctest::Approx(5.1 + 2.3));
  CHECK(c.route(0, 65).relayed);
  const auto parts = c.parts();
  const auto count = [&](VertexKind kind) {
    return std::count_if(parts.vertices.begin(), parts.vertices.end(), [&](const auto& v) { return v.kind == kind; });
  };
  CHECK(count(VertexKind::spine) == 4 * 2);
  CHECK(count(VertexKind::core) == 4);
}

TEST_CASE("groups that cross pods pay the core's oversubscription, others do not") {
  // pp 4, stride 64: every rank sends to the next pod.
  CHECK(Cluster(pods(1), 256).links({4, 64}).network == gb_per_s(50));
  const auto crossing = Cluster(pods(4), 256).links({4, 64});
  CHECK(crossing.network.value / kGB == doctest::Approx(12.5));
  CHECK(crossing.bound_by == SharedLink::core_uplink);
  CHECK(crossing.network_hops == 5);
  // Stages 32 apart: half of the ranks stay in the pod, the other half cross: 32 of 64 flows on uplinks that carry 16.
  CHECK(Cluster(pods(4), 256).links({8, 32}).network.value / kGB == doctest::Approx(25));
  const auto inside = Cluster(pods(4), 256).links({2, 32});
  CHECK(inside.network == gb_per_s(50));
  CHECK(inside.bound_by == SharedLink::none);
}

TEST_CASE("the tighter tier binds") {
  const auto links = [](double core, double leaf) { return Cluster(pods(core, leaf), 256).links({4, 64}); };
  CHECK(links(1, 2).bound_by == SharedLink::leaf_uplink);
  CHECK(links(1, 2).network.value / kGB == doctest::Approx(25));
  // A core tier thins what the leaves let through once more.
  CHECK(links(2, 2).network.value / kGB == doctest::Approx(12.5));
  CHECK(links(2, 2).bound_by == SharedLink::core_uplink);
}

TEST_CASE("all-to-all crosses pods with the part of its peers that are elsewhere") {
  // 256 members: of the 248 outside a rank's node 192 are in other pods; 64 ranks a pod on uplinks of 64 / 4.
  const auto links = Cluster(pods(4), 256).links({256, 1});
  CHECK(links.network_alltoall.value / kGB == doctest::Approx(50 * 16 / (64 * 192 / 248.0)));
  CHECK(links.bound_by_alltoall == SharedLink::core_uplink);
}

TEST_CASE("share counting is the maximum flow between pods") {
  for (const double core : {1.0, 2.0, 4.0})
    for (const double leaf : {1.0, 2.0}) {
      CAPTURE(core);
      CAPTURE(leaf);
      const Cluster c(pods(core, leaf), 128);
      std::vector<int> first, second;
      for (int rank = 0; rank < 64; ++rank) first.push_back(rank), second.push_back(64 + rank);
      const double flow = max_flow(c.parts(), first, second,
                                   {LinkKind::pcie, LinkKind::rail, LinkKind::uplink, LinkKind::core_uplink});
      CHECK(flow / 64 == doctest::Approx(c.links({2, 64}).network.value / kGB));
    }
}

TEST_CASE("one pod is the fabric of two tiers") {
  const Cluster with(pods(4), 64), without(hgx_b200(), 64);
  CHECK(with.links({2, 32}).network == without.links({2, 32}).network);
  for (const auto& v : with.parts().vertices) CHECK(v.kind != VertexKind::core);
}
