// SPDX-License-Identifier: Apache-2.0
// Placements worked by hand. Groups as Megatron lays them: TP consecutive, CP strides over TP, PP over W/pp.
#include <doctest/doctest.h>

#include "sample_hardware.hpp"
#include "topology/cluster.hpp"

using namespace shardfit;
using topology::Cluster;
using topology::GroupLinks;

TEST_CASE("EP64 lies in one rack of 64 placed GPUs") {
  const GroupLinks g = Cluster(nvl72_gb200(), 256).links({64, 1});
  CHECK(g.domains == 1);
  CHECK(g.members_per_domain == 64);
  CHECK(g.nodes == 16);
  CHECK(g.network_hops == 0);
  CHECK(g.nvlink == gb_per_s(900));
}

TEST_CASE("a job of 72 gets the whole rack; 73 GPUs take two") {
  CHECK(Cluster(nvl72_gb200(), 72).links({72, 1}).domains == 1);
  CHECK(Cluster(nvl72_gb200(), 73).domain_of(64) == 1);
  CHECK(Cluster(nvl72_gb200(), 64).links({64, 1}).domains == 1);
}

TEST_CASE("EP64 over every second rank spans two racks") {
  const GroupLinks g = Cluster(nvl72_gb200(), 128).links({64, 2});
  CHECK(g.domains == 2);
  CHECK(g.members_per_domain == 32);
  CHECK(g.nodes == 32);
  CHECK(g.network == gb_per_s(50));
  CHECK(g.network_hops == 1);  // both racks hang on one leaf a rail; ranks 0 and 64 share rail 0
}

TEST_CASE("EP64 takes 8 HGX nodes") {
  const GroupLinks g = Cluster(hgx_b200(), 128).links({64, 1});
  CHECK(g.domains == 8);
  CHECK(g.nodes == 8);
  CHECK(g.members_per_domain == 8);
  CHECK(g.network_hops == 1);
  // Other rail: over NVLink to the neighbour on that rail, then its NIC: 1.7 + 2.8 us.
  CHECK(in_us(g.network_latency) == doctest::Approx(4.5));
}

TEST_CASE("TP8 stays in a node; TP4 x CP2 too") {
  const Cluster c(hgx_b200(), 64);
  CHECK(c.links({8, 1}).nodes == 1);
  CHECK(c.links({4, 1}).nodes == 1);
  const GroupLinks cp = c.links({2, 4});
  CHECK(cp.nodes == 1);
  CHECK(cp.members_per_domain == 2);
  CHECK(c.links({2, 8}).nodes == 2);  // TP8 pushes CP out of the node
}

TEST_CASE("TP8 of a GB200 rack spans two trays but one domain") {
  const GroupLinks g = Cluster(nvl72_gb200(), 64).links({8, 1});
  CHECK(g.nodes == 2);
  CHECK(g.domains == 1);
}

TEST_CASE("DP over nodes runs on rails: one leaf, no relay") {
  const GroupLinks g = Cluster(hgx_b200(), 128).links({16, 8});
  CHECK(g.domains == 16);
  CHECK(g.members_per_domain == 1);
  CHECK(g.network == gb_per_s(50));
  CHECK(in_us(g.network_latency) == doctest::Approx(2.8));
  CHECK(g.network_hops == 1);
}

TEST_CASE("PP4 over 256 GB200 puts a stage in each rack") {
  const GroupLinks g = Cluster(nvl72_gb200(), 256).links({4, 64});
  CHECK(g.domains == 4);
  CHECK(g.members_per_domain == 1);
  // 32 nodes a unit are two racks of 16 nodes: racks 0,1 against 2,3 go over a spine, 2.8 + 2 * 1.15 us.
  CHECK(g.network_hops == 3);
  CHECK(in_us(g.network_latency) == doctest::Approx(5.1));
}

TEST_CASE("EP32 x ETP4 fills 128 B200") {
  const Cluster c(hgx_b200(), 128);
  const GroupLinks whole = c.links({128, 1});
  CHECK(whole.domains == 16);
  CHECK(whole.members_per_domain == 8);
  const GroupLinks ep = c.links({32, 4});
  CHECK(ep.domains == 16);
  CHECK(ep.members_per_domain == 2);
}

TEST_CASE("a group that does not divide a domain is judged by its worst block") {
  const GroupLinks g = Cluster(hgx_b200(), 24).links({6, 1});  // ranks 6..11 and 12..17 cross
  CHECK(g.domains == 2);
  CHECK(g.members_per_domain == 4);
}

TEST_CASE("first and last stage: one cut-off block") {
  const GroupLinks g = Cluster(hgx_b200(), 64).links({2, 48});
  CHECK(g.domains == 2);
  CHECK(g.members_per_domain == 1);
}

TEST_CASE("a group of one sees no network") {
  const GroupLinks g = Cluster(hgx_b200(), 64).links({1, 1});
  CHECK(g.size == 1);
  CHECK(g.domains == 1);
  CHECK(g.network_hops == 0);
}

TEST_CASE("tp-cp-ep-pp-dp puts a pipeline into the node and data parallelism across") {
  const Cluster c(hgx_b200(), 64);
  // tp 2, cp 2, pp 2, dp 8: stages 4 ranks apart, replicas 8.
  const GroupLinks pp = c.links({2, 4});
  CHECK(pp.nodes == 1);
  // dp x cp: pairs 2 apart in each of 8 nodes.
  const GroupLinks dp_cp = c.links({16, 2, 2, 8});
  CHECK(dp_cp.size == 16);
  CHECK(dp_cp.domains == 8);
  CHECK(dp_cp.members_per_domain == 2);
  // In the order tp-cp-ep-dp-pp the stages lie 32 ranks apart: every replica crosses.
  CHECK(c.links({2, 32}).domains == 2);
  CHECK(c.links({16, 2}).domains == 4);
}

TEST_CASE("runs of a group that follow one another without a gap are the plain group") {
  const Cluster c(hgx_b200(), 64);
  const GroupLinks runs = c.links({16, 2, 4, 8}), plain = c.links({16, 2});
  CHECK(runs.domains == plain.domains);
  CHECK(runs.nodes == plain.nodes);
  CHECK(runs.members_per_domain == plain.members_per_domain);
  CHECK(runs.network == plain.network);
}

TEST_CASE("PP over racks: each stage a rack, under a partial rack of 64") {
  HardwareSpec whole = nvl72_gb200();
  whole.fabric.placed_per_domain = 72;
  CHECK(Cluster(nvl72_gb200(), 128).links({2, 64}).domains == 2);
  CHECK(Cluster(nvl72_gb200(), 128).links({64, 1}).domains == 1);
  // With all 72 used the second EP64 begins in the first rack and ends in the second.
  const GroupLinks cut = Cluster(whole, 144).links({64, 1});
  CHECK(cut.domains == 2);
  CHECK(cut.members_per_domain == 56);
}

TEST_CASE("expert tokens have a NIC rate of their own where the file says so") {
  HardwareSpec h = hgx_b200();
  CHECK(Cluster(h, 64).links({64, 1}).dispatch_rate() == gb_per_s(50));
  h.fabric.nic_alltoall_gb_per_s.value = 96;
  h.fabric.nic_dispatch_gb_per_s.value = 40;
  CHECK(Cluster(h, 64).links({64, 1}).dispatch_rate() == gb_per_s(40));
  CHECK(Cluster(h, 64).links({64, 1}).network_alltoall == gb_per_s(96));
}
