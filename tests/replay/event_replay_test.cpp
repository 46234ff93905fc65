// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "replay/event_replay.hpp"

using namespace shardfit::replay;
using shardfit::schedule::PipelineShape;

TEST_CASE("two stages, two micro-batches, by hand") {
  // rank 0: F0 0-1, F1 1-2, B0 4-6 (after rank 1's), B1 7-9;  rank 1: F0 1-2, B0 2-4, F1 4-5, B1 5-7
  const std::vector<double> forward{1, 1}, backward{2, 2};
  const Replay r = play({{2, 1, 2, 2, false}, forward, backward, 0, true});
  CHECK(r.finish == 9);
  const std::vector<ReplayEvent>& first = r.timeline[0];
  REQUIRE(first.size() == 4);
  CHECK(first[1].start == 1);
  CHECK(first[2].kind == PassKind::backward);
  CHECK(first[2].start == 4);
  CHECK(first[3].start == 7);
  CHECK(r.ranks[0].busy == 6);
  CHECK(r.ranks[0].idle == 3);
}

TEST_CASE("transfers delay the receiver, and the sender where it waits") {
  const std::vector<double> forward{1, 1}, backward{2, 2};
  const PipelineShape one{2, 1, 1, 2, false};
  CHECK(play({one, forward, backward, 0.5, true}).finish == 7);
  CHECK(play({one, forward, backward, 0.5, false}).finish == 7);
  const PipelineShape many{2, 1, 8, 2, false};
  const Replay waits = play({many, forward, backward, 0.5, true});
  CHECK(waits.finish > play({many, forward, backward, 0.5, false}).finish);
  CHECK(waits.ranks[0].sending == doctest::Approx(8 * 0.5));
}

TEST_CASE("laws: order, dependencies, work") {
  const PipelineShape shape{3, 2, 7, 4, true};  // a last group of 3
  const std::vector<double> forward{1, 1.5, 0.7, 1, 0.9, 1.2}, backward{2, 2.5, 1.7, 2, 1.9, 2.2};
  const double p2p = 0.05;
  const Replay r = play({shape, forward, backward, p2p, false});

  const int chunks = shape.pp * shape.vpp;
  std::vector<double> forward_end(std::size_t(chunks * shape.microbatches), -1), backward_end = forward_end;
  const auto at = [&](int chunk, int microbatch) { return std::size_t(chunk * shape.microbatches + microbatch); };
  for (const std::vector<ReplayEvent>& events : r.timeline)
    for (const ReplayEvent& e : events)
      (e.kind == PassKind::forward ? forward_end : backward_end)[at(e.chunk * shape.pp + e.rank, e.microbatch)] = e.end;

  for (int rank = 0; rank < shape.pp; ++rank) {
    const std::vector<ReplayEvent>& events = r.timeline[std::size_t(rank)];
    CHECK(int(events.size()) == 2 * shape.vpp * shape.microbatches);
    for (std::size_t i = 0; i < events.size(); ++i) {
      const ReplayEvent& e = events[i];
      const int chunk = e.chunk * shape.pp + rank;
      if (i > 0) CHECK(e.start >= events[i - 1].end);
      if (e.kind == PassKind::forward && chunk > 0) CHECK(e.start >= forward_end[at(chunk - 1, e.microbatch)] + p2p);
      if (e.kind == PassKind::backward && chunk + 1 < chunks) CHECK(e.start >= backward_end[at(chunk + 1, e.microbatch)] + p2p);
      if (e.kind == PassKind::backward) CHECK(e.start >= forward_end[at(chunk, e.microbatch)]);
    }
    const RankUse& use = r.ranks[std::size_t(rank)];
    CHECK(use.busy + use.sending + use.idle == doctest::Approx(r.finish));
  }
}

TEST_CASE("every activation that is made is freed") {
  const std::vector<double> forward(8, 1.0), backward(8, 2.0);
  const Replay r = play({{4, 2, 8, 4, false}, forward, backward, 0, false});
  for (int rank = 0; rank < 4; ++rank) {
    const std::vector<LiveCount> counts = live_over_time(r, rank, 2);
    CHECK(counts.back().total == 0);
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const LiveCount& a, const LiveCount& b) { return a.total < b.total; });
    CHECK(most->total == 2 * (3 - rank) + 4 + 1);
  }
}
