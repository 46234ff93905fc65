// SPDX-License-Identifier: Apache-2.0
// Padding and shards of the buffers that optimizers lay parameters out in.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "state_fixture.hpp"

using namespace shardfit;
using namespace shardfit::memory;

namespace {

/// The distributed optimizer's buffer walked parameter by parameter, last one first: each starts at a
/// multiple of 64, buckets end at multiples of lcm(ranks, 128) and are cut into equal shards. The slow,
/// obvious form.
struct Walk {
  std::int64_t padded = 0;
  std::vector<std::int64_t> held;  ///< by rank
};
Walk walk_buffer(const std::vector<std::int64_t>& sizes, int ranks) {
  Walk walk;
  walk.held.assign(std::size_t(ranks), 0);
  std::vector<std::pair<std::int64_t, std::int64_t>> placed;
  std::int64_t at = 0;
  for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
    at = (at + 63) / 64 * 64;
    placed.emplace_back(at, at + *size);
    at += *size;
  }
  const std::int64_t step = std::lcm(ranks, 128);
  walk.padded = (at + step - 1) / step * step;
  const std::int64_t shard = walk.padded / ranks;
  for (int r = 0; r < ranks; ++r)
    for (const auto& [begin, end] : placed)
      walk.held[std::size_t(r)] += std::max<std::int64_t>(0, std::min(end, shard * (r + 1)) - std::max(begin, shard * r));
  return walk;
}

}  // namespace

TEST_CASE("the closed form of a buffer is that of the walk") {
  std::mt19937 random(7);
  for (int ranks : {1, 2, 3, 8, 48, 96}) {
    std::vector<std::int64_t> sizes;
    std::int64_t elements = 0, gaps = 0;
    for (int i = 0; i < 200; ++i) {
      const std::int64_t n = i % 3 ? 64 * std::int64_t(random() % 5000 + 1) : std::int64_t(random() % 700 + 1);
      sizes.push_back(n);
      elements += n;
      gaps += (64 - n % 64) % 64;
    }
    const Walk walk = walk_buffer(sizes, ranks);
    const BufferShare share = buffer_share(elements, gaps, ranks);
    CHECK(share.padded == walk.padded);
    const std::int64_t fullest = *std::max_element(walk.held.begin(), walk.held.end());
    CHECK(std::abs(share.held - fullest) <= gaps);
    if (ranks == 1) CHECK(share.held == elements);
  }
}

TEST_CASE("padding is tight: a full buffer has none, one element more costs a step") {
  CHECK(buffer_share(128 * 48, 0, 48).padded == 128 * 48);
  CHECK(buffer_share(128 * 48 + 1, 0, 48).padded == 128 * 48 + 384);  // lcm(48, 128)
  CHECK(buffer_share(0, 0, 48).padded == 0);
}

TEST_CASE("the layer-wise optimizer holds whole matrices") {
  StaticInputs in = bf16_adam(Sharding::layerwise, 8);
  in.optimizer.kind = OptimizerKind::muon;
  in.params.dense = in.params.matrices = 16 * 1'000'000;
  in.params.largest_matrix = 1'000'000;
  SUBCASE("matrices that pack evenly cost no padding") {
    const StaticState s = static_state(in);
    CHECK(s.weights.value == 2 * 16'000'000);
    CHECK(s.master_weights.value == 4 * 2'000'000);
    CHECK(s.exp_avg.value == 4 * 2'000'000);
    CHECK(s.exp_avg_sq.value == 0);
  }
  SUBCASE("more ranks than matrices blow the buffers up") {
    in.dense_shards = 32;
    CHECK(static_state(in).weights.value == 2 * 32 * 1'000'000);
    CHECK(static_state(in).master_weights.value == 4 * 1'000'000);
  }
}

TEST_CASE("layer-wise buffers without the shard-aligned layout hold the parameters and no padding") {
  StaticInputs in;
  in.params.dense = in.params.matrices = 1000 * 1024;
  in.params.largest_matrix = 500 * 1024;
  in.sharding = Sharding::layerwise;
  in.optimizer.kind = OptimizerKind::muon;
  in.dense_shards = 8;
  const StaticState aligned = static_state(in);
  in.shard_aligned_buffers = false;
  const StaticState plain = static_state(in);
  CHECK(aligned.weights.value == 2 * 8 * 500 * 1024);
  CHECK(plain.weights.value == 2 * 1000 * 1024);
  CHECK(plain.gradients.value == 4 * 1000 * 1024);
  CHECK(plain.master_weights == aligned.master_weights);
}
