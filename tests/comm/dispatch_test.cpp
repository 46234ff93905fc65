// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>

#include "comm/expert_volume.hpp"
#include "sample_links.hpp"

using namespace shardfit;
using block::CollectiveKind;

namespace {

block::Traffic tokens(CollectiveKind kind, double count, double width, int top_k, int experts) {
  block::Traffic t;
  t.kind = kind;
  t.tokens = count;
  t.width_bytes = width;
  t.top_k = top_k;
  t.num_experts = experts;
  return t;
}

comm::Network with(Dispatcher dispatcher, int sms = 0) {
  comm::Network n = network_of(GpuGeneration::blackwell);
  n.dispatcher = dispatcher;
  n.dispatcher_sms = sms;
  n.dispatch_nvlink = 0.88;
  n.alltoall_rate = 0.91;
  n.dispatch_network = 0.94;
  return n;
}

/// Published with fp8 rows of `hidden` and a 4-byte scale a 128.
double fp8_width(double hidden) { return hidden * (1 + 4 / 128.0); }

}  // namespace

TEST_CASE("no peers or no tokens: no time") {
  for (const Dispatcher d : {Dispatcher::allgather, Dispatcher::alltoall, Dispatcher::deepep, Dispatcher::hybridep}) {
    CHECK(comm::dispatch_time(tokens(CollectiveKind::dispatch, 4096, 14336, 8, 256), one_domain(1, 900), with(d)) == 0);
    CHECK(comm::dispatch_time(tokens(CollectiveKind::dispatch, 0, 14336, 8, 256), one_domain(8, 900), with(d)) == 0);
  }
}

TEST_CASE("inside a domain HybridEP is NVLink bytes over the fitted share, by hand") {
  // 4,096 tokens of 7,168 bf16, top 8 of 256, 64 ranks: 7.73 ranks hit, 63/64 of them elsewhere.
  const auto t = tokens(CollectiveKind::dispatch, 4096, 14336, 8, 256);
  const double hits = block::expected_parts_hit(64, 256, 8);
  const double links = 4096 * 14336 * hits * 63 / 64 / (0.88 * 900e9);
  const double copies = 4096 * hits * 14336 / 90e9 / 32;
  const double expected = std::pow(std::pow(links, 4) + std::pow(copies, 4), 0.25) + 40e-6;
  CHECK(comm::dispatch_time(t, one_domain(64, 900), with(Dispatcher::hybridep, 32)) == doctest::Approx(expected));
  CHECK(expected < 1.01 * (links + 40e-6));  // 32 SMs keep out of the way
}

TEST_CASE("across domains the NIC carries a token once a domain") {
  const auto t = tokens(CollectiveKind::combine, 4096, 14336, 8, 256);
  const double nic = 4096 * 14336 * block::expected_parts_hit(8, 256, 8) * 7 / 8 / (0.94 * 50e9);
  const double got = comm::dispatch_time(t, across(8, 8, 900, 50), with(Dispatcher::hybridep, 32));
  CHECK(got / (nic + 40e-6) == doctest::Approx(1).epsilon(0.01));
}

TEST_CASE("alltoall sends all k copies, and starts as any of NCCL's all-to-alls") {
  const auto t = tokens(CollectiveKind::dispatch, 4096, 14336, 8, 256);
  const double stream = 8 * 4096 * 14336.0 * 7 / 8 / (0.88 * 0.91 * 900e9);
  // Blackwell: 10.4 us, 0.287 for each peer, 2.90 a root of the streaming time (comm/nccl_constants.cpp).
  const double expected = stream + 1e-6 * (10.4 + 0.287 * 7 + 2.90 * std::sqrt(stream * 1e6));
  CHECK(comm::dispatch_time(t, one_domain(8, 900), with(Dispatcher::alltoall)) == doctest::Approx(expected));
  auto few = t;
  few.tokens = 1;  // what is left of an exchange that carries next to nothing
  const auto spread = across(8, 8, 900, 50);
  CHECK(comm::dispatch_time(few, spread, with(Dispatcher::alltoall)) > 1e-6 * (10.4 + 11.2));
  CHECK(comm::dispatch_time(few, spread, with(Dispatcher::alltoall)) < 60e-6);
  CHECK(comm::sms_taken(with(Dispatcher::alltoall)) == 0);
}

TEST_CASE("de-duplication gains most over the network") {
  const auto t = tokens(CollectiveKind::dispatch, 8192, 8192, 8, 128);
  const auto links = across(2, 8, 450, 50);
  CHECK(comm::dispatch_time(t, links, with(Dispatcher::hybridep)) <
        0.3 * comm::dispatch_time(t, links, with(Dispatcher::alltoall)));
}

TEST_CASE("DeepEP in one node against measured kernels") {
  // ai-dynamo/aiconfigurator, DeepEP 1.2.1 normal mode (2026-07): 4,096 tokens, hidden 7,168, top 8 of 256, 24 SMs;
  // dispatch in fp8 and combine in bf16, us.
  struct Row {
    int ranks;
    double nvlink, dispatch, combine;
  };
  for (const Row& r : {Row{8, 450, 498, 961}, Row{8, 900, 440, 756}, Row{4, 900, 360, 597}}) {
    CAPTURE(r.dispatch);
    const auto links = one_domain(r.ranks, r.nvlink);
    const auto network = with(Dispatcher::deepep, 24);
    const double dispatch = comm::dispatch_time(tokens(CollectiveKind::dispatch, 4096, fp8_width(7168), 8, 256), links,
                                                network);
    const double combine = comm::dispatch_time(tokens(CollectiveKind::combine, 4096, 14336, 8, 256), links, network);
    CHECK(dispatch * 1e6 == doctest::Approx(r.dispatch).epsilon(0.2));
    CHECK(combine * 1e6 == doctest::Approx(r.combine).epsilon(0.2));
  }
}

TEST_CASE("DeepEP over 4 nodes of H100 against measured kernels, few and many SMs") {
  // The same tables, 32 ranks: us at 4, 8, 24 SMs.
  struct Row {
    int sms;
    double dispatch, combine;
  };
  for (const Row& r : {Row{4, 4761, 12010}, Row{8, 2570, 6184}, Row{24, 1791, 3522}}) {
    CAPTURE(r.sms);
    const auto links = across(4, 8, 450, 50);
    const auto network = with(Dispatcher::deepep, r.sms);
    CHECK(comm::dispatch_time(tokens(CollectiveKind::dispatch, 4096, fp8_width(7168), 8, 256), links, network) * 1e6 ==
          doctest::Approx(r.dispatch).epsilon(0.2));
    CHECK(comm::dispatch_time(tokens(CollectiveKind::combine, 4096, 14336, 8, 256), links, network) * 1e6 ==
          doctest::Approx(r.combine).epsilon(0.2));
  }
}

TEST_CASE("HybridEP kernels on GB200 against published bandwidth") {
  // DeepEP hybrid-ep docs (2026-07), bf16 dispatch, kernel only, GB/s of received bytes (own part included) at 32 SMs:
  // 4,096 tokens, hidden 7,168, top 8, 8 local experts.
  struct Row {
    int ranks;
    double gb_per_s;
  };
  for (const Row& r : {Row{8, 764}, Row{16, 707}, Row{24, 666}, Row{32, 642}, Row{36, 632}}) {
    CAPTURE(r.ranks);
    const int experts = 8 * r.ranks;
    const double measured = 4096 * 14336 * block::expected_parts_hit(r.ranks, experts, 8) / (r.gb_per_s * 1e9);
    const double got = comm::dispatch_time(tokens(CollectiveKind::dispatch, 4096, 14336, 8, experts), one_domain(r.ranks, 900),
                                           with(Dispatcher::hybridep, 32));
    CHECK(got == doctest::Approx(measured).epsilon(0.2));
  }
}

TEST_CASE("fewer SMs never help") {
  const auto t = tokens(CollectiveKind::combine, 4096, 14336, 8, 256);
  for (const Dispatcher d : {Dispatcher::deepep, Dispatcher::hybridep})
    for (const auto& links : {one_domain(8, 900), across(4, 8, 900, 50)}) {
      double before = 1e9;
      for (const int sms : {4, 8, 16, 32, 64}) {
        const double now = comm::dispatch_time(t, links, with(d, sms));
        CHECK(now <= before);
        before = now;
      }
    }
}

TEST_CASE("allgather dispatcher gathers every token of the group") {
  const auto t = tokens(CollectiveKind::dispatch, 4096, 14336, 8, 256);
  const auto network = with(Dispatcher::allgather);
  CHECK(comm::dispatch_time(t, one_domain(8, 900), network) ==
        comm::collective_time(CollectiveKind::all_gather, 8 * 4096 * 14336.0, one_domain(8, 900), network));
}
