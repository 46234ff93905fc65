// SPDX-License-Identifier: Apache-2.0
// The tower as front ends build it: published modules, adapters, context parallelism, attention by span.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "vision_fixture.hpp"

using namespace shardfit;
using namespace shardfit::block;

TEST_CASE("a published module is whole on every rank of tp, and written out") {
  constexpr TowerBuild kPublished{TowerBuild::Recompute::never, false, true};
  VisionSpec v = qwen3_vl();
  const Shapes one = shapes_of(4096, 4096), eight = shapes_of(4096, 4096, 8);
  const OpList tower = vision_encoder(v, eight, kImage, kPublished);
  CHECK(elements(tower, ParamGroup::vision_tower) == 415891440);
  CHECK(saved_bytes(tower) == saved_bytes(vision_encoder(v, one, kImage)));  // LayerNorm, no gate: nothing more is kept
  CHECK(gemm_flops(tower, Pass::forward) == gemm_flops(vision_encoder(v, one, kImage), Pass::forward));
  CHECK(traffic_bytes(tower, Group::tp, CollectiveKind::all_reduce, false) == 0);
  // RMSNorm keeps 4 B an element more and a gate's activation 2 B, in every layer.
  v.norm = NormKind::rmsnorm;
  v.mlp_gated = true;
  const std::int64_t more = saved_bytes(vision_encoder(v, one, kImage, kPublished)) -
                            saved_bytes(vision_encoder(v, one, kImage));
  CHECK(more == 27LL * 3200 * (2 * 4 * 1152 + 2 * 4304));
}

TEST_CASE("LoRA on the tower: adapters beside its linears, gradients run through, no weight's own") {
  Shapes s = shapes_of(4096, 4096);
  s.train_weights = false;
  s.lora_rank = 16;
  s.lora_targets = {LinearModule::linear_qkv, LinearModule::linear_fc2};
  const OpList ops = vision_encoder(qwen3_vl(), s, kImage);
  CHECK(elements(ops, ParamGroup::lora) == 27LL * 16 * (1152 + 3 * 1152 + 4304 + 1152));
  std::int64_t trainable = 0;
  for (const Op& op : ops)
    for (const Weight& w : op.weights) trainable += w.trainable ? w.elements() : 0;
  CHECK(trainable == elements(ops, ParamGroup::lora));
  CHECK(gemm_flops(ops, Pass::wgrad) < 0.05 * gemm_flops(ops, Pass::dgrad));
  CHECK(saved_bytes(ops) < saved_bytes(vision_encoder(qwen3_vl(), shapes_of(4096, 4096), kImage)));
  // The mergers' fc2 alone: no gradient goes up into a tower that has none.
  const OpList merger = all_projection(qwen3_vl(), s, kImage);
  CHECK(elements(merger, ParamGroup::lora) == 4LL * 16 * (4608 + 4096));
}

TEST_CASE("context-parallel ranks look up the whole sequence; where they share out images, features are gathered") {
  Shapes s = shapes_of(4096, 8192, 2, 1, 2);
  VisionLoad load = kImage;
  const double whole = 8192.0 * 4096 * 2, features = 4 * 800.0 * 4096 * 2;
  OpList ops = all_projection(qwen3_vl(), s, load);
  CHECK(traffic_bytes(ops, Group::tp, CollectiveKind::all_gather, false) == whole);
  CHECK(traffic_bytes(ops, Group::tp, CollectiveKind::reduce_scatter, false) == whole / 2);  // the other half of cp 2
  CHECK(traffic_bytes(ops, Group::cp, CollectiveKind::all_gather, false) == 0);
  load.tokens = 400;
  load.split_over_cp = true;
  ops = all_projection(qwen3_vl(), s, load);
  CHECK(traffic_bytes(ops, Group::cp, CollectiveKind::all_gather, false) == features);
  CHECK(traffic_bytes(ops, Group::cp, CollectiveKind::all_reduce, true) == features);
}

TEST_CASE("attention that takes no spans is called for each: windows make many") {
  constexpr TowerBuild kPublished{TowerBuild::Recompute::never, false, true, true};
  VisionSpec v = qwen3_vl();
  const Shapes s = shapes_of(4096, 4096);
  const auto launches = [&](bool backward, const TowerBuild& build) {
    return host_work(vision_encoder(v, s, kImage, build), backward).kernels;
  };
  constexpr TowerBuild kFlash{TowerBuild::Recompute::never, false, true, false};
  // Six launches a layer read three lists of lengths; a span is two launches forward and four backward.
  CHECK(launches(false, kPublished) - launches(false, kFlash) == 27 * (6 + 2 - 1));
  v.attention_window = 128;  // 50 windows of 8 x 8 patches
  v.full_attention_layers = {8, 17, 26};
  CHECK(launches(false, kPublished) - launches(false, kFlash) == 27 * 6 + 3 * (2 - 1) + 24 * (50 * 2 - 1));
  CHECK(launches(true, kPublished) - launches(true, kFlash) == 24 * 49 * 4);
}

TEST_CASE("the longest span stays on the device: every layer of Bridge's own tower reads it") {
  const Shapes s = shapes_of(4096, 4096);
  const auto idle = [&](bool backward, const TowerBuild& build) {
    double sum = 0;
    for (const Op& op : vision_encoder(qwen3_vl(), s, kImage, build))
      sum += (backward ? op.backward : op.forward).host.idle_launches;
    return sum;
  };
  CHECK(idle(false, {}) == 27 * (3 * 2 + 2 + 1));
  CHECK(idle(true, {}) == 27 * (1 * 2 + 1));
  CHECK(idle(false, {TowerBuild::Recompute::never, false, true, false}) == 0);
}
