// SPDX-License-Identifier: Apache-2.0
// NVSwitch planes: how many, how wide, and that a group sees all of them together, as the maximum flow does.
#include <doctest/doctest.h>

#include <algorithm>

#include "max_flow.hpp"
#include "sample_hardware.hpp"
#include "shardfit/base/error.hpp"
#include "topology/cluster.hpp"

using namespace shardfit;
using topology::Cluster;
using topology::GraphParts;
using topology::LinkKind;
using topology::VertexKind;

namespace {

HardwareSpec with_planes(HardwareSpec h, std::vector<int> links, int failed = 0) {
  h.fabric.nvswitch.links = std::move(links);
  h.fabric.nvswitch.failed = failed;
  return h;
}

int planes(const GraphParts& parts) {
  return int(std::count_if(parts.vertices.begin(), parts.vertices.end(),
                           [](const auto& v) { return v.kind == VertexKind::nvswitch; }));
}

/// GB/s of a GPU's links, in the order of the planes.
std::vector<double> links_of(const GraphParts& parts, int gpu) {
  std::vector<double> rates;
  for (const auto& e : parts.edges)
    if (e.kind == LinkKind::nvlink && e.from == gpu) rates.push_back(e.bandwidth.value / kGB);
  return rates;
}

}  // namespace

TEST_CASE("a GB200 rack has 18 planes with a link of every GPU; a group sees the sum") {
  const Cluster c(with_planes(nvl72_gb200(), std::vector<int>(18, 1)), 144);
  const GraphParts parts = c.parts();
  CHECK(planes(parts) == 3 * 18);  // 64 of each rack
  CHECK(links_of(parts, 100) == std::vector<double>(18, 50.0));
  CHECK(c.route(0, 63).bandwidth == gb_per_s(900));
  CHECK(c.route(0, 63).nvlink_hops == 2);
  CHECK(c.links({64, 1}).nvlink == gb_per_s(900));
}

TEST_CASE("HGX H100: four planes, two of them wider") {
  HardwareSpec h = with_planes(hgx_b200(), {5, 4, 4, 5});
  h.fabric.nvlink_gb_per_s.value = 450;
  const Cluster c(h, 8);
  CHECK(links_of(c.parts(), 3) == std::vector<double>{125, 100, 100, 125});
  CHECK(c.links({8, 1}).nvlink == gb_per_s(450));
}

TEST_CASE("a failed plane takes its links from every GPU, the widest first") {
  HardwareSpec h = with_planes(hgx_b200(), {5, 4, 4, 5}, 1);
  h.fabric.nvlink_gb_per_s.value = 450;
  CHECK(Cluster(h, 8).links({8, 1}).nvlink == gb_per_s(325));  // 13 of 18 links
  const HardwareSpec rack = with_planes(nvl72_gb200(), std::vector<int>(18, 1), 2);
  CHECK(Cluster(rack, 64).links({64, 1}).nvlink == gb_per_s(800));
  CHECK(planes(Cluster(rack, 64).parts()) == 16);
  CHECK_THROWS_AS(Cluster(with_planes(hgx_b200(), {9, 9}, 2), 8), InputError);
}

TEST_CASE("the sum over planes is the maximum flow between two GPUs, and all pairs reach it at once") {
  for (const int failed : {0, 1}) {
    const Cluster c(with_planes(hgx_b200(), {5, 4, 4, 5}, failed), 8);
    const GraphParts parts = c.parts();
    const double rate = c.links({8, 1}).nvlink.value / kGB;
    CHECK(max_flow(parts, {0}, {5}, {LinkKind::nvlink}) == doctest::Approx(rate));
    CHECK(max_flow(parts, {0, 1, 2, 3}, {4, 5, 6, 7}, {LinkKind::nvlink}) == doctest::Approx(4 * rate));
  }
}

TEST_CASE("folded, the planes of a domain are one switch with the sum of the links") {
  const GraphParts whole = Cluster(with_planes(nvl72_gb200(), std::vector<int>(18, 1)), 128).parts();
  const GraphParts folded = with_planes_folded(whole);
  CHECK(planes(folded) == 2);
  CHECK(links_of(folded, 77) == std::vector<double>{900});
  CHECK(whole.vertices.size() - folded.vertices.size() == 2 * 17);
  CHECK(whole.edges.size() - folded.edges.size() == 128 * 17);
  for (const auto& v : folded.vertices) CHECK(v.planes == (v.kind == VertexKind::nvswitch ? 18 : 1));
  for (const auto& e : folded.edges)
    if (e.kind == LinkKind::nvlink)
      CHECK(folded.vertices[std::size_t(e.from)].domain == folded.vertices[std::size_t(e.to)].domain);
}

TEST_CASE("without planes in the file one switch stands for all") {
  const GraphParts parts = Cluster(hgx_b200(), 16).parts();
  CHECK(planes(parts) == 2);
  CHECK(links_of(parts, 9) == std::vector<double>{900});
}
