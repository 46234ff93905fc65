// SPDX-License-Identifier: Apache-2.0
// Published bus bandwidth (GB/s, as nccl-tests counts it) beyond one node. Sources: CoreWeave nccl-tests PR 43
// (GB200 racks, 2025-26), OCI quick starts (2025-12..2026-04), ml-engineering 744d01e (B200 over 4 nodes of 8 x
// 400G), NVIDIA nccl-tests issues 267, 290, 309 (single-NIC rates). "Large" stands for 16 GiB where the source
// gives no size.
#include <doctest/doctest.h>

#include "comm/nccl_constants.hpp"
#include "sample_links.hpp"

using namespace shardfit;
using block::CollectiveKind;

namespace {

constexpr double kLarge = 16;
struct Row {
  int domains, members;
  double nic, gib, bus;
};

double bus_of(CollectiveKind kind, const Row& r) {
  const auto links = r.domains == 1 ? one_domain(r.members, 900) : across(r.domains, r.members, 900, r.nic);
  const double bytes = r.gib * kGiB, n = links.size;
  const double t = comm::collective_time(kind, bytes, links, network_of(GpuGeneration::blackwell));
  return (kind == CollectiveKind::all_reduce ? 2 : 1) * (n - 1) / n * bytes / t / 1e9;
}

}  // namespace

TEST_CASE("all-reduce in one rack and over racks, within 22 %") {
  constexpr Row rows[] = {{1, 64, 50, kLarge, 892}, {1, 72, 50, 0.5, 586},    {1, 72, 50, 1, 700},    {1, 72, 50, 2, 758},
                          {1, 72, 50, 8, 841},      {2, 72, 50, 0.5, 494},    {2, 72, 50, 1, 596},    {2, 72, 50, 2, 680},
                          {2, 72, 50, 8, 793},      {2, 72, 50, 16, 810},     {20, 72, 50, 0.5, 151}, {20, 72, 50, 1, 219},
                          {20, 72, 50, 2, 287},     {20, 72, 50, 8, 381},     {20, 72, 50, 16, 406},  {2, 64, 50, kLarge, 800},
                          {3, 64, 50, kLarge, 749}, {2, 64, 100, kLarge, 738}};
  for (const Row& r : rows) {
    CAPTURE(r.domains);
    CAPTURE(r.gib);
    CHECK(bus_of(CollectiveKind::all_reduce, r) == doctest::Approx(r.bus).epsilon(0.22));
  }
}

TEST_CASE("all-reduce over HGX nodes is bound by the NICs, within 20 %") {
  constexpr Row rows[] = {{4, 8, 50, 1.0 / 64, 64}, {4, 8, 50, 1.0 / 16, 157}, {4, 8, 50, 0.25, 229},   {4, 8, 50, 0.5, 327},
                          {4, 8, 50, 1, 362},       {4, 8, 50, 16, 382},       {2, 8, 100, kLarge, 767}};
  for (const Row& r : rows) {
    CAPTURE(r.gib);
    CHECK(bus_of(CollectiveKind::all_reduce, r) == doctest::Approx(r.bus).epsilon(0.2));
  }
}

TEST_CASE("all-to-all over nodes is one NIC's rate times N/(N-1)") {
  // 48.5 GB/s a NIC over 16 nodes.
  CHECK(bus_of(CollectiveKind::all_to_all, {16, 8, 50, 2, 0}) == doctest::Approx(48.5 * 16 / 15).epsilon(0.05));
  CHECK(bus_of(CollectiveKind::all_to_all, {2, 8, 100, kLarge, 0}) == doctest::Approx(181).epsilon(0.05));  // B300
  CHECK(bus_of(CollectiveKind::all_to_all, {1, 64, 100, kLarge, 0}) == doctest::Approx(667).epsilon(0.1));  // GB300
}

TEST_CASE("SHARP: neither steps nor ramp grow with the ranks; the published points are met") {
  // CoreWeave nccl-tests PR 43, 64 H100 with SHARP: GB/s at 0.5 and 8 GiB. Nothing is fitted to them.
  comm::Network network = network_of(GpuGeneration::hopper);
  network.sharp = true;
  const auto bus = [&](double gib) {
    const double bytes = gib * kGiB, n = 64;
    return 2 * (n - 1) / n * bytes / comm::collective_time(CollectiveKind::all_reduce, bytes, across(8, 8, 450, 50), network) /
           1e9;
  };
  // An all-reduce of nothing: NCCL's latency of NVLS and of its tree over the network's switches, whatever the ranks.
  for (const int domains : {2, 64})
    CHECK(comm::collective_time(CollectiveKind::all_reduce, 1, across(domains, 8, 450, 50), network) * 1e6 ==
          doctest::Approx(comm::collective_fit(GpuGeneration::hopper).nvls.base + 18).epsilon(0.01));
  CHECK(bus(0.5) == doctest::Approx(356).epsilon(0.05));
  CHECK(bus(8) == doctest::Approx(387).epsilon(0.05));
  const comm::Network without = network_of(GpuGeneration::hopper);
  double before = 0;
  for (const int domains : {2, 8, 64}) {
    const auto links = across(domains, 8, 450, 50);
    const double with = comm::collective_time(CollectiveKind::all_reduce, 1e8, links, network);
    CHECK(with < comm::collective_time(CollectiveKind::all_reduce, 1e8, links, without));
    if (before > 0) CHECK(with / before == doctest::Approx(1).epsilon(0.035));  // 2(n-1)/n alone
    before = with;
    CHECK(comm::collective_time(CollectiveKind::all_gather, 1e8, links, network) ==
          comm::collective_time(CollectiveKind::all_gather, 1e8, links, without));
  }
  CHECK(comm::collective_time(CollectiveKind::all_reduce, 1e8, one_domain(8, 450), network) ==
        comm::collective_time(CollectiveKind::all_reduce, 1e8, one_domain(8, 450), without));
}
