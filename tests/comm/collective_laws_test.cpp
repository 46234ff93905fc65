// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "sample_links.hpp"

using namespace shardfit;
using block::CollectiveKind;
using comm::collective_time;

namespace {
constexpr CollectiveKind kKinds[] = {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                                     CollectiveKind::all_to_all, CollectiveKind::send_recv,  CollectiveKind::broadcast};
constexpr GpuGeneration kGenerations[] = {GpuGeneration::ampere, GpuGeneration::hopper, GpuGeneration::blackwell};
}  // namespace

TEST_CASE("a group of one and an empty tensor cost nothing") {
  for (const CollectiveKind kind : kKinds) {
    CHECK(collective_time(kind, 1e9, one_domain(1, 900), network_of(GpuGeneration::blackwell)) == 0);
    CHECK(collective_time(kind, 0, one_domain(8, 900), network_of(GpuGeneration::blackwell)) == 0);
  }
}

TEST_CASE("time never falls as bytes grow") {
  for (const GpuGeneration generation : kGenerations)
    for (const CollectiveKind kind : kKinds)
      for (const auto& links : {one_domain(2, 900), one_domain(8, 450), one_domain(64, 900), across(2, 64, 900, 50),
                                across(16, 8, 450, 50), across(16, 1, 450, 50)}) {
        double before = 0;
        for (double bytes = 512; bytes < 64e9; bytes *= 1.3) {
          const double t = collective_time(kind, bytes, links, network_of(generation));
          CAPTURE(bytes);
          REQUIRE(t >= before);
          before = t;
        }
      }
}

TEST_CASE("nothing beats the wire") {
  const double bytes = 4e9;
  for (const GpuGeneration generation : kGenerations) {
    const comm::Network network = network_of(generation);
    for (const int n : {2, 4, 8, 64}) {
      const double share = bytes * (n - 1) / n;
      CHECK(collective_time(CollectiveKind::all_gather, bytes, one_domain(n, 900), network) > share / 900e9);
      CHECK(collective_time(CollectiveKind::reduce_scatter, bytes, one_domain(n, 900), network) > share / 900e9);
      CHECK(collective_time(CollectiveKind::all_to_all, bytes, one_domain(n, 900), network) > share / 900e9);
      // In the switch an all-reduce carries each byte once up and once down.
      CHECK(collective_time(CollectiveKind::all_reduce, bytes, one_domain(n, 900), network) > bytes / 900e9);
    }
    CHECK(collective_time(CollectiveKind::all_gather, bytes, across(4, 8, 900, 50), network) > bytes * 31 / 32 / 400e9);
    CHECK(collective_time(CollectiveKind::all_reduce, bytes, across(4, 8, 900, 50), network) > bytes * 31 / 16 / 400e9);
    CHECK(collective_time(CollectiveKind::all_to_all, bytes, across(4, 8, 900, 50), network) >= bytes * 24 / 32 / 50e9);
    CHECK(collective_time(CollectiveKind::send_recv, bytes, across(4, 1, 900, 50), network) > bytes / 50e9);
  }
}

TEST_CASE("large messages reach most of the wire") {
  const comm::Network network = network_of(GpuGeneration::blackwell);
  const double bytes = 16e9;
  CHECK(collective_time(CollectiveKind::all_gather, bytes, across(4, 8, 900, 50), network) < 1.1 * bytes * 31 / 32 / 400e9);
  CHECK(collective_time(CollectiveKind::all_gather, bytes, one_domain(8, 900), network) < bytes * 7 / 8 / (0.7 * 900e9));
}

TEST_CASE("leaving the domain costs, and more members there bring more NICs") {
  const comm::Network network = network_of(GpuGeneration::blackwell);
  for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::all_to_all}) {
    const double inside = collective_time(kind, 1e9, one_domain(16, 900), network);
    const double two = collective_time(kind, 1e9, across(2, 8, 900, 50), network);
    const double sixteen = collective_time(kind, 1e9, across(16, 1, 900, 50), network);
    CHECK(inside < two);
    CHECK(two < sixteen);
  }
}
