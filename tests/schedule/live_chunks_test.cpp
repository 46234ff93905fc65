// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <numeric>

#include "schedule/live_chunks.hpp"
#include "schedule/order.hpp"

using namespace shardfit::schedule;

namespace {

using Vectors = std::vector<std::vector<int>>;

int total(const std::vector<int>& live) { return std::accumulate(live.begin(), live.end(), 0); }

}  // namespace

TEST_CASE("1F1B keeps min(M, pp - stage) micro-batches") {
  for (const int microbatches : {1, 3, 4, 16})
    for (int stage = 0; stage < 4; ++stage) {
      const PipelineShape shape{4, 1, microbatches, 4, false};
      CHECK(live_chunks(shape, stage) == Vectors{{std::min(microbatches, 4 - stage)}});
    }
}

TEST_CASE("no pipeline: one micro-batch, with expert overlap too") {
  CHECK(live_chunks({1, 1, 8, 1, false}, 0) == Vectors{{1}});
  CHECK(live_chunks({1, 1, 8, 1, true}, 0) == Vectors{{1}});  // the next comes as this one goes, layer by layer
  CHECK(live_chunks({1, 1, 1, 1, true}, 0) == Vectors{{1}});
}

TEST_CASE("last rank of pp 4 vpp 8: a group of each chunk and one of the last, 29 in all") {
  // Megatron-LM's functional test gpt3_7b_tp1_pp4_vpp8 with M = group = 4 holds 29 chunk-layers there.
  const Vectors live = live_chunks({4, 8, 4, 4, false}, 3);
  REQUIRE(!live.empty());
  for (const std::vector<int>& moment : live) CHECK(total(moment) == 29);
  CHECK(std::find(live.begin(), live.end(), std::vector<int>{4, 4, 4, 4, 4, 4, 4, 1}) != live.end());
}

TEST_CASE("last rank of pp 4 vpp 3: 9 in flight, with a group of 5: 11") {
  for (const std::vector<int>& moment : live_chunks({4, 3, 16, 4, false}, 3)) CHECK(total(moment) == 9);
  for (const std::vector<int>& moment : live_chunks({4, 3, 20, 5, false}, 3)) CHECK(total(moment) == 11);
}

TEST_CASE("first chunks are over-represented on the first rank") {
  // pp 2 vpp 2, groups of 2: 2 + 2 warm-up forwards: chunk 0 of 0 1, chunk 1 of 0 1; then chunk 0 of 2.
  const Vectors live = live_chunks({2, 2, 8, 2, false}, 0);
  CHECK(std::find(live.begin(), live.end(), std::vector<int>{3, 2}) != live.end());
  for (const std::vector<int>& moment : live) CHECK(total(moment) == 5);
}

TEST_CASE("with one group early ranks run everything as warm-up") {
  const PipelineShape shape{4, 2, 4, 4, false};
  CHECK(warmup_microbatches(shape, 0) == 8);  // 6 + 4, held to 8
  CHECK(live_chunks(shape, 0) == Vectors{{4, 4}});
  CHECK(warmup_microbatches(shape, 3) == 4);
}

TEST_CASE("expert overlap keeps as many: a warm-up forward more, but pairs free as they go") {
  const PipelineShape plain{4, 3, 16, 4, false}, overlap{4, 3, 16, 4, true};
  for (int stage = 0; stage < 4; ++stage) {
    CHECK(warmup_microbatches(overlap, stage) == warmup_microbatches(plain, stage) + 1);
    CHECK(total(live_chunks(overlap, stage).front()) == total(live_chunks(plain, stage).front()));
  }
}

TEST_CASE("a smaller last group keeps its order") {
  // 5 micro-batches in groups of 3: 0 1 2 through both chunks, then 3 4.
  const PipelineShape shape{2, 2, 5, 3, false};
  const int microbatch[] = {0, 1, 2, 0, 1, 2, 3, 4, 3, 4}, chunk[] = {0, 0, 0, 1, 1, 1, 0, 0, 1, 1};
  for (int i = 0; i < 10; ++i) {
    CHECK(forward_at(shape, i).microbatch == microbatch[i]);
    CHECK(forward_at(shape, i).chunk == chunk[i]);
    CHECK(backward_at(shape, i).chunk == 1 - chunk[i]);
  }
}
