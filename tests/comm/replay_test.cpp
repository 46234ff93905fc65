// SPDX-License-Identifier: Apache-2.0
// The traffic ledger against rank-by-rank replays on small grids: every byte sent is received, and the closed forms are
// the mean of what ranks really send.
#include <doctest/doctest.h>

#include <random>
#include <set>
#include <vector>

#include "sample_links.hpp"

using namespace shardfit;
using block::CollectiveKind;

namespace {

/// Bytes sent and received by each rank; ranks m*d .. m*(d+1)-1 are domain d.
struct Wire {
  int ranks, members;
  std::vector<double> sent_inside, sent_across, received;
  std::vector<std::vector<double>> holds;  ///< replayed contents, where a test uses them
  Wire(int domains, int m)
      : ranks(domains * m), members(m), sent_inside(std::size_t(ranks)), sent_across(sent_inside), received(sent_inside) {}
  void send(int from, int to, double bytes) {
    if (from == to) return;
    (from / members == to / members ? sent_inside : sent_across)[std::size_t(from)] += bytes;
    received[std::size_t(to)] += bytes;
  }
  double total(const std::vector<double>& v) const {
    double sum = 0;
    for (const double x : v) sum += x;
    return sum;
  }
  void check_against(const comm::SentBytes& closed, double tolerance = 1e-9) const {
    CHECK(total(sent_inside) + total(sent_across) == doctest::Approx(total(received)));
    CHECK(closed.nvlink == doctest::Approx(total(sent_inside) / ranks).epsilon(tolerance));
    CHECK(closed.network == doctest::Approx(total(sent_across) / ranks).epsilon(tolerance));
  }
};

topology::GroupLinks links_of(int domains, int members) {
  return domains == 1 ? one_domain(members, 900) : across(domains, members, 900, 50);
}

/// NCCL's multi-rail rings: ring j visits each domain's members starting at j, so that it leaves the domain by NIC j-1.
/// Ring j carries bytes/members; at each of n-1 steps every rank hands a chunk of 1/n on.
void replay_ring(Wire& w, double bytes, int passes) {
  const int n = w.ranks;
  for (int ring = 0; ring < w.members; ++ring)
    for (int at = 0; at < n; ++at) {
      const auto rank_at = [&](int position) {
        position %= n;
        return position / w.members * w.members + (position + ring) % w.members;
      };
      w.send(rank_at(at), rank_at(at + 1), passes * (n - 1) * bytes / w.members / n);
    }
}

struct Grid {
  int domains, members;
};
constexpr Grid kGrids[] = {{1, 2}, {1, 8}, {2, 4}, {4, 2}, {3, 1}, {4, 4}};

comm::SentBytes closed_form(CollectiveKind kind, double bytes, const Grid& g) {
  block::Traffic t;
  t.kind = kind;
  t.bytes = bytes;
  return comm::sent_bytes(t, links_of(g.domains, g.members), network_of(GpuGeneration::blackwell));
}

}  // namespace

TEST_CASE("rings: gather, scatter, all-reduce") {
  for (const Grid& g : kGrids) {
    Wire once(g.domains, g.members), twice(g.domains, g.members);
    replay_ring(once, 1e6, 1);
    replay_ring(twice, 1e6, 2);
    once.check_against(closed_form(CollectiveKind::all_gather, 1e6, g));
    once.check_against(closed_form(CollectiveKind::reduce_scatter, 1e6, g));
    twice.check_against(closed_form(CollectiveKind::all_reduce, 1e6, g));
  }
}

TEST_CASE("a ring all-gather really ends with every chunk everywhere") {
  const int n = 6;
  std::vector<std::set<int>> held(n);
  for (int r = 0; r < n; ++r) held[std::size_t(r)].insert(r);
  int chunks_sent_by_rank_0 = 0;
  for (int step = 0; step < n - 1; ++step) {
    const auto before = held;
    for (int r = 0; r < n; ++r) {
      const int chunk = ((r - step) % n + n) % n;
      REQUIRE(before[std::size_t(r)].count(chunk) == 1);
      held[std::size_t((r + 1) % n)].insert(chunk);
      chunks_sent_by_rank_0 += r == 0;
    }
  }
  for (const auto& h : held) CHECK(h.size() == n);
  CHECK(closed_form(CollectiveKind::all_gather, 6e6, {1, n}).nvlink == doctest::Approx(chunks_sent_by_rank_0 * 1e6));
}

TEST_CASE("all-to-all: every rank sends a part to every other") {
  for (const Grid& g : kGrids) {
    Wire w(g.domains, g.members);
    for (int a = 0; a < w.ranks; ++a)
      for (int b = 0; b < w.ranks; ++b) w.send(a, b, 1e6 / w.ranks);
    w.check_against(closed_form(CollectiveKind::all_to_all, 1e6, g));
  }
}

namespace {

block::Traffic expert_tokens(double tokens, double width, int top_k, int experts) {
  block::Traffic t;
  t.kind = CollectiveKind::dispatch;
  t.tokens = tokens;
  t.width_bytes = width;
  t.top_k = top_k;
  t.num_experts = experts;
  return t;
}

std::set<int> pick_experts(std::mt19937& random, int experts, int top_k) {
  std::set<int> chosen;
  while (int(chosen.size()) < top_k) chosen.insert(int(random() % unsigned(experts)));
  return chosen;
}

comm::SentBytes closed_form(Dispatcher dispatcher, const block::Traffic& t, const Grid& g) {
  comm::Network network = network_of(GpuGeneration::blackwell);
  network.dispatcher = dispatcher;
  return comm::sent_bytes(t, links_of(g.domains, g.members), network);
}

constexpr int kTokens = 4000, kExperts = 48, kTopK = 4;
constexpr double kWidth = 100;
constexpr double kSamplingError = 0.02;
constexpr Grid kExpertGrids[] = {{1, 4}, {1, 8}, {2, 4}, {4, 2}, {3, 4}};

}  // namespace

TEST_CASE("expert tokens without de-duplication: a copy a pick") {
  std::mt19937 random(1);
  for (const Grid& g : kExpertGrids) {
    Wire w(g.domains, g.members);
    const int local = kExperts / w.ranks;
    for (int rank = 0; rank < w.ranks; ++rank)
      for (int token = 0; token < kTokens; ++token)
        for (const int e : pick_experts(random, kExperts, kTopK)) w.send(rank, e / local, kWidth);
    w.check_against(closed_form(Dispatcher::alltoall, expert_tokens(kTokens, kWidth, kTopK, kExperts), g), kSamplingError);
  }
}

TEST_CASE("expert tokens with de-duplication: once a rank, once a domain over the network, handed on inside") {
  std::mt19937 random(2);
  for (const Grid& g : kExpertGrids) {
    Wire w(g.domains, g.members);
    const int local = kExperts / w.ranks;
    for (int rank = 0; rank < w.ranks; ++rank)
      for (int token = 0; token < kTokens; ++token) {
        std::set<int> ranks, domains;
        for (const int e : pick_experts(random, kExperts, kTopK)) {
          ranks.insert(e / local);
          domains.insert(e / local / g.members);
        }
        for (const int d : domains) {
          const int entry = d * g.members + rank % g.members;  // the GPU on the sender's rail takes it in
          w.send(rank, entry == rank || d == rank / g.members ? rank : entry, kWidth);
          for (const int target : ranks)
            if (target / g.members == d) w.send(d == rank / g.members ? rank : entry, target, kWidth);
        }
      }
    w.check_against(closed_form(Dispatcher::hybridep, expert_tokens(kTokens, kWidth, kTopK, kExperts), g), kSamplingError);
  }
}

TEST_CASE("a group of one sends nothing") {
  for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_to_all, CollectiveKind::send_recv}) {
    const comm::SentBytes sent = closed_form(kind, 1e6, {1, 1});
    CHECK(sent.nvlink == 0);
    CHECK(sent.network == 0);
  }
}
