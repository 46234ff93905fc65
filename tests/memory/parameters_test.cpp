// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "memory/profiles.hpp"

using namespace shardfit;
using namespace shardfit::memory;

namespace {

block::Weight linear(std::int64_t rows, std::int64_t cols, std::int64_t count = 1, bool expert = false) {
  block::Weight w;
  w.rows = rows;
  w.cols = cols;
  w.count = count;
  w.expert = expert;
  w.linear = true;
  return w;
}

block::Weight vector_of(std::int64_t n) {
  block::Weight w;
  w.rows = n;
  return w;
}

block::OpList moe_like() {
  block::Op mlp;
  mlp.view = block::View::experts;
  mlp.weights = {linear(100, 10), linear(8, 4, 16, true), vector_of(10)};
  block::Op router;
  router.view = block::View::router;
  block::Weight gate = linear(32, 10);
  gate.linear = false;
  block::Weight bias = vector_of(32);
  bias.buffer = true;
  router.weights = {gate, bias};
  block::Op mixer;
  mixer.view = block::View::mamba;
  block::Weight decay = vector_of(6);
  decay.fp32 = true;
  mixer.weights = {decay};
  return {mlp, router, mixer};
}

}  // namespace

TEST_CASE("parameters fall into the classes that cost alike") {
  const ParamCounts c = count_params(moe_like());
  CHECK(c.dense == 1000 + 10 + 320);
  CHECK(c.expert == 512);
  CHECK(c.dense_fp32 == 6);
  CHECK(c.buffers == 32);
  CHECK(c.linear_dense == 1000);
  CHECK(c.linear_expert == 512);
  CHECK(c.matrices == 1000 + 320 + 512);
  CHECK(c.matrices_expert == 512);
  CHECK(c.largest_matrix == 1000);
  CHECK(c.largest_matrix_expert == 32);
}

TEST_CASE("gaps are counted for every parameter that does not fill a multiple of 64") {
  const ParamCounts c = count_params(moe_like());
  CHECK(c.gaps_dense == (1024 - 1000) + (64 - 10) + 0);  // 320 is a multiple of 64
  CHECK(c.gaps_expert == 16 * 32);
}

TEST_CASE("frozen weights are counted apart, and their linear part too") {
  block::OpList ops = moe_like();
  for (block::Op& op : ops)
    for (block::Weight& w : op.weights) w.trainable = false;
  const ParamCounts c = count_params(ops);
  CHECK(c.dense == 0);
  CHECK(c.expert == 0);
  CHECK(c.frozen_dense == 1000 + 10 + 320 + 6);
  CHECK(c.frozen_expert == 512);
  CHECK(c.linear_dense == 1000);
  CHECK(c.linear_trainable_dense == 0);
  CHECK(c.matrices == 0);
  CHECK(weight_shapes(ops).empty());
}

TEST_CASE("n layers are n times one layer, and the largest matrix stays") {
  const ParamCounts one = count_params(moe_like());
  ParamCounts three = one;
  three += one;
  three += one;
  CHECK(three == one * 3);
  CHECK(one * 0 == ParamCounts{});
  CHECK(three.largest_matrix == 1000);
}

TEST_CASE("shapes are distinct, sorted, and take the head but not the embedding") {
  block::OpList ops = moe_like();
  ops.front().weights.push_back(linear(100, 10));
  block::Op head;
  head.view = block::View::head;
  block::Weight output = linear(500, 10);
  output.linear = false;
  output.embedding = output.bf16_linear = true;
  head.weights = {output};
  ops.push_back(head);
  block::Op lookup;
  lookup.view = block::View::embedding;
  block::Weight words = output;
  words.rows = 700;
  words.bf16_linear = false;
  lookup.weights = {words};
  ops.push_back(lookup);
  CHECK(weight_shapes(ops) == WeightShapes{{8, 4}, {100, 10}, {500, 10}});
}
