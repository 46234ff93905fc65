// SPDX-License-Identifier: Apache-2.0
#include "memory/whole_tensors.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "memory/static_state.hpp"

using namespace shardfit;
using namespace shardfit::memory;

namespace {

/// One tensor each of 1, 2, ..., n elements; the even ones are matrices.
TensorSizes ladder(int n) {
  TensorSizes sizes;
  for (int i = 1; i <= n; ++i) sizes.push_back({i, 1, i % 2 == 0, false});
  return sizes;
}

std::int64_t all(const OwnedTensors& o) { return o.matrices + o.others; }

}  // namespace

TEST_CASE("tensors are dealt there and back: four ranks and ten tensors, as the source's own example") {
  // [[p0, p7, p8], [p1, p6, p9], [p2, p5], [p3, p4]], of which p0 has one element.
  const TensorSizes sizes = ladder(10);
  const std::int64_t expected[] = {1 + 8 + 9, 2 + 7 + 10, 3 + 6, 4 + 5};
  for (int rank = 0; rank < 4; ++rank) CHECK(all(dealt_to(sizes, false, rank, 4)) == expected[rank]);
}

TEST_CASE("every tensor has one owner, and equal ones that are counted together are dealt as if alone") {
  TensorSizes together = {{3, 7, true, false}, {5, 4, false, false}, {5, 6, false, true}};
  TensorSizes alone;
  for (const TensorSize& s : together)
    for (int i = 0; i < s.count; ++i) alone.push_back({s.elements, 1, s.matrix, s.expert});
  for (const int ranks : {1, 2, 3, 8, 64}) {
    std::int64_t sum = 0, most = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const OwnedTensors owned = dealt_to(together, false, rank, ranks);
      CHECK(all(owned) == all(dealt_to(alone, false, rank, ranks)));
      sum += all(owned);
      most = std::max(most, 2 * owned.matrices + 3 * owned.others);
    }
    CHECK(sum == 3 * 7 + 5 * 4);
    const OwnedTensors fullest = dealt_to_fullest(together, false, ranks);
    CHECK(2 * fullest.matrices + 3 * fullest.others == most);
  }
}

TEST_CASE("a rank that owns the embedding whole has all of its state") {
  StaticInputs in;
  in.sharding = Sharding::layerwise;
  in.optimizer.kind = OptimizerKind::muon;
  in.dense_shards = 4;
  in.params.dense = 1000;
  in.owned_dense = OwnedTensors{.matrices = 100, .others = 600};
  const StaticState s = static_state(in);
  CHECK(s.weights.value == 2 * 1000);
  CHECK(s.gradients.value == 4 * 1000);
  CHECK(s.master_weights.value == 4 * 700);
  CHECK(s.exp_avg.value == 4 * 700);
  CHECK(s.exp_avg_sq.value == 4 * 600);
}
