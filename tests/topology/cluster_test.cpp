// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <chrono>
#include <map>

#include "sample_hardware.hpp"
#include "shardfit/base/error.hpp"
#include "topology/cluster.hpp"

using namespace shardfit;
using topology::Cluster;
using topology::PairClass;
using topology::VertexKind;

TEST_CASE("the graph of two HGX nodes has every part") {
  const topology::GraphParts parts = Cluster(hgx_b200(), 16).parts();
  std::map<VertexKind, int> vertices;
  for (const auto& v : parts.vertices) ++vertices[v.kind];
  CHECK(vertices[VertexKind::gpu] == 16);
  CHECK(vertices[VertexKind::nic] == 16);
  CHECK(vertices[VertexKind::nvswitch] == 2);
  CHECK(vertices[VertexKind::cpu] == 2);
  CHECK(vertices[VertexKind::leaf] == 8);
  CHECK(vertices[VertexKind::spine] == 8);
  CHECK(parts.edges.size() == 16 * 4 + 8 * 8);  // NVLink, host, PCIe, rail a GPU; each leaf to each spine
}

TEST_CASE("edges join what they say") {
  const topology::GraphParts parts = Cluster(nvl72_gb200(), 72).parts();
  for (const auto& e : parts.edges) {
    const VertexKind a = parts.vertices[std::size_t(e.from)].kind, b = parts.vertices[std::size_t(e.to)].kind;
    if (e.kind == topology::LinkKind::nvlink) CHECK((a == VertexKind::gpu && b == VertexKind::nvswitch));
    if (e.kind == topology::LinkKind::host) {
      CHECK((a == VertexKind::gpu && b == VertexKind::cpu));
      CHECK(in_us(e.latency) == doctest::Approx(0.58));
    }
    if (e.kind == topology::LinkKind::uplink) CHECK((a == VertexKind::leaf && b == VertexKind::spine));
  }
}

TEST_CASE("routes take NVLink in the domain, the rail outside, a neighbour's NIC across rails") {
  const Cluster c(hgx_b200(), 512);
  const auto& inside = c.route(0, 5);
  CHECK(inside.nvlink_hops == 2);
  CHECK(inside.network_switches == 0);
  CHECK(in_us(inside.latency) == doctest::Approx(1.7));
  CHECK(inside.bandwidth == gb_per_s(900));

  const auto& rail = c.route(0, 8);
  CHECK(rail.network_switches == 1);
  CHECK_FALSE(rail.relayed);
  CHECK(rail.bandwidth == gb_per_s(50));

  const auto& across = c.route(0, 9);
  CHECK(across.relayed);
  CHECK(across.network_switches == 1);

  const auto& far = c.route(0, 256);  // node 32: the next unit
  CHECK(far.over_spine);
  CHECK(far.network_switches == 3);
  CHECK(c.route(3, 3).latency == Seconds(0));
}

TEST_CASE("host memory is no way from one GPU to another, however near it is") {
  HardwareSpec slow = hgx_b200();
  slow.fabric.nvlink_latency_us.value = 4;  // two hops of 2 us, against two of 0.58 us over the host and 5.1 us over NICs
  const Cluster c(slow, 8);
  const auto& route = c.route(0, 5);
  CHECK(route.nvlink_hops == 2);
  CHECK(in_us(route.latency) == doctest::Approx(4));
}

TEST_CASE("every pair has a route, also with a short last node") {
  for (const int gpus : {1, 2, 9, 12, 65, 129, 260}) {
    const Cluster c(hgx_b200(), gpus);
    for (int a = 0; a < gpus; ++a)
      for (int b = 0; b < gpus; ++b) REQUIRE(c.route(a, b).exists);
  }
}

TEST_CASE("the link matrix shows the first node and one rank of each farther kind") {
  const topology::LinkMatrix m = Cluster(hgx_b200(), 512).link_matrix();
  REQUIRE(m.ranks.size() == 8 + 4);
  CHECK(m.ranks[8] == 8);
  CHECK(m.ranks[9] == 9);
  CHECK(m.ranks[10] == 256);
  CHECK(m.pairs[0][0] == PairClass::self);
  CHECK(m.pairs[0][7] == PairClass::same_node);
  CHECK(m.pairs[0][8] == PairClass::same_unit);
  CHECK(m.pairs[1][8] == PairClass::same_unit_other_rail);
  CHECK(m.pairs[0][10] == PairClass::other_unit);
}

TEST_CASE("sizes that make no cluster are refused") {
  CHECK_THROWS_AS(Cluster(hgx_b200(), 0), InputError);
  HardwareSpec h = hgx_b200();
  h.fabric.spines = 0;
  CHECK_THROWS_AS(Cluster(h, 8), InputError);
  h = hgx_b200();
  h.fabric.oversubscription.value = 0;
  CHECK_THROWS_AS(Cluster(h, 8), InputError);
}

TEST_CASE("clusters of 8 to 16,384 GPUs of both kinds: every kind of pair has a route, none leaves the domain in vain") {
  for (const HardwareSpec& h : {hgx_b200(), nvl72_gb200()})
    for (int gpus = 8; gpus <= 16384; gpus *= 2) {
      CAPTURE(gpus);
      const Cluster c(h, gpus);
      const topology::LinkMatrix m = c.link_matrix();
      for (const int rank : m.ranks) {
        const topology::Route& route = c.route(0, rank);
        CHECK(route.exists);
        CHECK((route.network_switches == 0) == (c.domain_of(rank) == 0));
      }
      CHECK(c.links({gpus, 1}).domains == c.domain_of(gpus - 1) + 1);
    }
}

TEST_CASE("16,384 GPUs with all planes and the groups of a sweep in well under two seconds") {
  HardwareSpec racks = nvl72_gb200(), pods = hgx_b200();
  racks.fabric.nvswitch.links = std::vector<int>(18, 1);
  pods.fabric.nvswitch.links = {9, 9};
  pods.fabric.core = {.units_per_pod = 16, .switches = 8};
  for (const HardwareSpec& h : {racks, pods}) {
    const auto start = std::chrono::steady_clock::now();
    const Cluster c(h, 16384);
    int crossing = 0;
    for (int stride = 1; stride <= 4096; stride *= 2)
      for (int size = 2; size * stride <= 16384; size *= 2) crossing += c.links({size, stride}).domains > 1;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    MESSAGE(h.name, " built and asked in ", took.count(), " s");
    CHECK(crossing > 50);
    CHECK(took.count() < 30);  // a debug build under sanitizers; a release takes 0.5 s
  }
}
