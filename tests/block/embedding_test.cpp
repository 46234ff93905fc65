// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "block/blocks.hpp"
#include "mixer_fixture.hpp"
#include "op_sums.hpp"

using namespace shardfit;
using namespace shardfit::block;

namespace {

Shapes qwen3(int tp = 1) {
  Shapes s = shapes_of(4096, 4096, tp);
  s.vocab = 152064;
  s.grad_bytes = 2;
  return s;
}

}  // namespace

TEST_CASE("the embedding is split over tp by vocabulary; learned positions are not") {
  TextSpec text;
  text.learned_positions = 1024;
  const OpList ops = embedding(text, qwen3(4));
  CHECK(elements(ops, Split::tensor) == 152064LL / 4 * 4096);
  CHECK(elements(ops, Split::replicated) == 1024LL * 4096);
  CHECK(elements(ops, ParamGroup::embedding) == (152064LL / 4 + 1024) * 4096);
}

TEST_CASE("its gradient is dense: a whole matrix beside the buffer, moved in each micro-batch") {
  const OpList ops = embedding(TextSpec{}, qwen3());
  REQUIRE(ops.size() == 1);
  REQUIRE(ops[0].transients.size() == 1);
  CHECK(ops[0].transients[0].bytes.value == 152064LL * 4096 * 2);
  CHECK(ops[0].transients[0].moment == Moment::backward);
  CHECK(moved_bytes(ops, KernelKind::memory, true) == 4.0 * 4096 * 4096 + 152064.0 * 4096 * (4 + 2 * 2));
}

TEST_CASE("a frozen embedding has no backward") {
  Shapes s = qwen3(2);
  s.train_weights = false;
  const OpList ops = embedding(TextSpec{}, s);
  CHECK(ops[0].backward.kernels.empty());
  CHECK(ops[0].backward.traffic.empty());
  CHECK_FALSE(ops[0].weights[0].trainable);
}

TEST_CASE("sequence parallelism scatters the output, plain tp reduces it whole") {
  Shapes s = qwen3(4);
  const double stream = 4096.0 * 4096 * 2;
  CHECK(traffic_bytes(embedding(TextSpec{}, s), Group::tp, CollectiveKind::reduce_scatter, false) == stream);
  CHECK(traffic_bytes(embedding(TextSpec{}, s), Group::tp, CollectiveKind::all_gather, true) == stream);
  s.sequence_parallel = false;
  CHECK(traffic_bytes(embedding(TextSpec{}, s), Group::tp, CollectiveKind::all_reduce, false) == stream);
  CHECK(traffic_bytes(embedding(TextSpec{}, s), Group::tp, CollectiveKind::all_gather, true) == 0);
}

TEST_CASE("dropout keeps one byte an element") {
  Shapes s = qwen3(2);
  CHECK(saved_bytes(embedding(TextSpec{}, s)) == 0);
  s.hidden_dropout = true;
  CHECK(saved_bytes(embedding(TextSpec{}, s)) == 2048LL * 4096);
}
