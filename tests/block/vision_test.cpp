// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>

#include "block/blocks.hpp"
#include "mixer_fixture.hpp"
#include "op_sums.hpp"

using namespace shardfit;
using namespace shardfit::block;

namespace {

VisionSpec qwen3_vl() {
  VisionSpec v;
  v.depth = 27;
  v.hidden_size = 1152;
  v.num_heads = 16;
  v.head_dim = 72;
  v.intermediate_size = 4304;
  v.patch_size = 16;
  v.temporal_patch_size = 2;
  v.position_table_size = 2304;
  v.merger.intermediate_size = 4608;
  v.merger.out_hidden_size = 4096;
  v.deepstack = DeepstackSpec{{8, 16, 24}, {0, 1, 2}, v.merger};
  v.deepstack->merger.norm_after_merge = true;
  return v;
}

/// One image of 800 visual tokens.
constexpr VisionLoad kImage{.patches = 3200, .patches_squared = 3200.0 * 3200, .tokens = 800, .images = 1,
                            .spans = 1, .positions = 3200, .all_tokens = 800};

/// All operations of the tower and its projection that belong to `view`.
OpList of_view(View view, const VisionSpec& v, const Shapes& tower, const Shapes& projection, const VisionLoad& load,
               const TowerBuild& build) {
  OpList ops;
  for (const OpList& list : {vision_ends(v, tower, load, build), vision_layers(v, tower, projection, load, build),
                             vision_projector(v, projection, load, build)})
    for (const Op& op : list)
      if (op.view == view) ops.push_back(op);
  return ops;
}

OpList vision_encoder(const VisionSpec& v, const Shapes& s, const VisionLoad& load, const TowerBuild& build = {}) {
  return of_view(View::vision_encoder, v, s, s, load, build);
}

OpList all_projection(const VisionSpec& v, const Shapes& s, const VisionLoad& load, const TowerBuild& build = {}) {
  return of_view(View::vision_projector, v, s, s, load, build);
}

double serial_ms(const OpList& ops) {
  double sum = 0;
  for (const Op& op : ops) sum += op.forward.host.serial_ms + op.backward.host.serial_ms;
  return sum;
}

double attention_flops_of(const OpList& ops, Pass pass) {
  return kernel_flops(ops, KernelKind::attention, pass);
}

}  // namespace

TEST_CASE("published parts of Qwen3-VL-235B") {
  const Shapes s = shapes_of(4096, 4096);
  CHECK(elements(vision_encoder(qwen3_vl(), s, kImage), ParamGroup::vision_tower) == 415891440);
  const OpList projector = all_projection(qwen3_vl(), s, kImage);
  CHECK(elements(projector, ParamGroup::vision_merger) == 40119040);
  CHECK(elements(projector, ParamGroup::deepstack_mergers) == 120377856);
}

TEST_CASE("the tower keeps about 4 MB a visual token") {
  // A layer and patch: 16*1152 + 4*4304 B, 64 B of log-sum-exp, 16 B of statistics; 27 layers, 4 patches a
  // token, and the flattened pixels once. With the mergers the estimate behind published VLM runs is 4.0 MB.
  const Shapes s = shapes_of(4096, 4096);
  const OpList ops = vision_encoder(qwen3_vl(), s, kImage);
  const std::int64_t layer = 16 * 1152 + 4 * 4304 + 16 * 4 + 2 * 8;
  CHECK(saved_bytes(ops) == 3200 * (27 * layer + 1536 * 2));
  const double all = double(saved_bytes(ops) + saved_bytes(all_projection(qwen3_vl(), s, kImage)));
  CHECK(all / 800 == doctest::Approx(4.0e6).epsilon(0.02));
}

TEST_CASE("tp splits what is between the linears, not the stream") {
  const Shapes s = shapes_of(4096, 4096, 8);
  const OpList ops = vision_encoder(qwen3_vl(), s, kImage);
  const std::int64_t layer = 8 * 1152 + 8 * 1152 / 8 + 4 * 4304 / 8 + 16 * 4 / 8 + 2 * 8;
  CHECK(saved_bytes(ops) == 3200 * (27 * layer + 1536 * 2));
  // Two all-reduces of [P, 1152] a layer and pass, none hidden by sequence parallelism.
  const double stream = 3200.0 * 1152 * 2;
  CHECK(traffic_bytes(ops, Group::tp, CollectiveKind::all_reduce, false) == 54 * stream);
  CHECK(traffic_bytes(ops, Group::tp, CollectiveKind::all_reduce, true) == 54 * stream);
  CHECK(traffic_bytes(ops, Group::tp, CollectiveKind::all_gather, false) == 0);
}

TEST_CASE("forward work of a layer and patch: 30.45 MFLOP of GEMM, about 150 kB moved") {
  const OpList ops = vision_encoder(qwen3_vl(), shapes_of(4096, 4096), kImage);
  const double embedding = 2.0 * 3200 * 1152 * 1536;
  CHECK((gemm_flops(ops, Pass::forward) - embedding) / (27 * 3200) == doctest::Approx(30.45e6).epsilon(1e-3));
  CHECK(attention_flops_of(ops, Pass::forward) == doctest::Approx(27 * 4 * 1152 * 3200.0 * 3200));
  CHECK(attention_flops_of(ops, Pass::dgrad) ==
        doctest::Approx(2.5 * attention_flops_of(ops, Pass::forward)));
  CHECK(moved_bytes(ops, KernelKind::memory, false) / (27 * 3200) == doctest::Approx(150e3).epsilon(0.05));
}

TEST_CASE("windows cut attention in all but the full layers") {
  VisionSpec v = qwen3_vl();
  const Shapes s = shapes_of(4096, 4096);
  v.attention_window = 128;  // 8 x 8 patches of 16 pixels
  v.full_attention_layers = {8, 17, 26};
  CHECK(attention_flops_of(vision_encoder(v, s, kImage), Pass::forward) ==
        doctest::Approx(4 * 1152 * 3200.0 * (3 * 3200.0 + 24 * 64)));
}

TEST_CASE("the host's loops over images are serial") {
  Shapes s = shapes_of(4096, 4096);
  CHECK(serial_ms(vision_encoder(qwen3_vl(), s, kImage)) == doctest::Approx(1.5 + 2.4 + 1.2 + 2));
  // An eager tower layer at 14.4 us a call and 7 us a launch: a study of published steps gives it 0.3 to 0.75 ms forward and
  // 0.5 to 1.3 ms backward.
  const auto layer_ms = [](const HostWork& w) { return (14.4e-3 * w.calls + 7e-3 * w.kernels) / 27; };
  const OpList ops = vision_encoder(qwen3_vl(), s, kImage);
  const double forward = layer_ms(host_work(ops, false)), backward = layer_ms(host_work(ops, true));
  CHECK(forward > 0.3);
  CHECK(forward < 0.75);
  CHECK(backward > 0.5);
  CHECK(backward < 1.3);
}

TEST_CASE("a micro-batch without images keeps weights only") {
  const OpList ops = vision_encoder(qwen3_vl(), shapes_of(4096, 4096), {});
  CHECK(elements(ops, ParamGroup::vision_tower) == 415891440);
  CHECK(saved_bytes(ops) == 0);
  CHECK(serial_ms(ops) == 0);
  CHECK(gemm_flops(ops, Pass::forward) == 0);
}

TEST_CASE("a frozen tower runs forward only; its merger can train alone") {
  Shapes s = shapes_of(4096, 4096);
  s.train_weights = false;
  s.needs_input_grad = false;
  const OpList tower = vision_encoder(qwen3_vl(), s, kImage);
  CHECK(saved_bytes(tower) == 0);
  CHECK(gemm_flops(tower, Pass::dgrad) + gemm_flops(tower, Pass::wgrad) == 0);
  CHECK(attention_flops_of(tower, Pass::dgrad) == 0);
  Shapes projection = s;
  projection.train_weights = true;
  const OpList merger = of_view(View::vision_projector, qwen3_vl(), s, projection, kImage, {});
  CHECK(gemm_flops(merger, Pass::wgrad) == doctest::Approx(gemm_flops(merger, Pass::forward)));
  CHECK(saved_bytes(merger, "norm_in") == 4 * 3200LL * 1152 * 2);  // no tower keeps the DeepStack inputs
}

TEST_CASE("the tower stays in bf16 and takes no sequence or context parallelism") {
  Shapes s = shapes_of(4096, 8192, 2, 1, 2);
  const std::int64_t plain = saved_bytes(vision_encoder(qwen3_vl(), s, kImage));
  s.precision = Precision::nvfp4;
  const OpList ops = vision_encoder(qwen3_vl(), s, kImage);
  CHECK(saved_bytes(ops) == plain);
  CHECK(moved_bytes(ops, KernelKind::quantize, false) == 0);
  for (const Op& op : ops)
    for (const Weight& w : op.weights) CHECK_FALSE(w.linear);
}

TEST_CASE("visual tokens enter the whole sequence at once") {
  const OpList ops = all_projection(qwen3_vl(), shapes_of(4096, 4096, 4), kImage);
  std::int64_t most = 0;
  for (const Op& op : ops)
    for (const Transient& t : op.transients) most = std::max(most, t.bytes.value);
  CHECK(most == 4LL * 4096 * 4096 * 2);
  CHECK(traffic_bytes(ops, Group::tp, CollectiveKind::all_gather, false) == 4096.0 * 4096 * 2);
}

TEST_CASE("a published module is whole on every rank of tp, and written out") {
  constexpr TowerBuild kPublished{TowerBuild::Recompute::never, false, true};
  VisionSpec v = qwen3_vl();
  const Shapes one = shapes_of(4096, 4096), eight = shapes_of(4096, 4096, 8);
  const OpList tower = vision_encoder(v, eight, kImage, kPublished);
  CHECK(elements(tower, ParamGroup::vision_tower) == 415891440);
  CHECK(saved_bytes(tower) == saved_bytes(vision_encoder(v, one, kImage)));   // LayerNorm, no gate: nothing more is kept
  CHECK(gemm_flops(tower, Pass::forward) == gemm_flops(vision_encoder(v, one, kImage), Pass::forward));
  CHECK(traffic_bytes(tower, Group::tp, CollectiveKind::all_reduce, false) == 0);
  // RMSNorm keeps 4 B an element more and a gate's activation 2 B, in every layer.
  v.norm = NormKind::rmsnorm;
  v.mlp_gated = true;
  const std::int64_t more = saved_bytes(vision_encoder(v, one, kImage, kPublished)) - saved_bytes(vision_encoder(v, one, kImage));
  CHECK(more == 27LL * 3200 * (2 * 4 * 1152 + 2 * 4304));
}

TEST_CASE("LoRA on the tower: adapters beside its linears, gradients run through, no weight's own") {
  Shapes s = shapes_of(4096, 4096);
  s.train_weights = false;
  s.lora_rank = 16;
  s.lora_targets = {LoraTarget::linear_qkv, LoraTarget::linear_fc2};
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
  CHECK(traffic_bytes(ops, Group::tp, CollectiveKind::reduce_scatter, false) == whole / 2);   // the other half of cp 2
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
  const auto launches = [&](bool backward, const TowerBuild& build) { return host_work(vision_encoder(v, s, kImage, build), backward).kernels; };
  constexpr TowerBuild kFlash{TowerBuild::Recompute::never, false, true, false};
  CHECK(launches(false, kPublished) - launches(false, kFlash) == 27 * 3);
  v.attention_window = 128;  // 50 windows of 8 x 8 patches
  v.full_attention_layers = {8, 17, 26};
  CHECK(launches(false, kPublished) - launches(false, kFlash) == 3 * 3 + 24 * 50 * 3);
  CHECK(launches(true, kPublished) - launches(true, kFlash) == 3 * 5 + 24 * 50 * 5);
}
