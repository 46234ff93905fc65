// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>

#include <string>

#include "vision_fixture.hpp"

using namespace shardfit;
using namespace shardfit::block;

namespace {

/// At `call` and `launch` us each.
double serial_ms(const OpList& ops, double call = 14.4, double launch = 7) {
  double us = 0;
  for (const Op& op : ops)
    for (const Work& work : {op.forward, op.backward})
      us += call * work.host.serial.calls + launch * work.host.serial.launches + work.host.serial.list_us;
  return us / 1e3;
}

double attention_flops_of(const OpList& ops, Pass pass) { return kernel_flops(ops, KernelKind::attention, pass); }

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

TEST_CASE("forward work of a layer and patch: 30.45 MFLOP of GEMM; bytes moved by hand") {
  const OpList ops = vision_encoder(qwen3_vl(), shapes_of(4096, 4096), kImage);
  const double embedding = 2.0 * 3200 * 1152 * 1536;
  CHECK((gemm_flops(ops, Pass::forward) - embedding) / (27 * 3200) == doctest::Approx(30.45e6).epsilon(1e-3));
  CHECK(attention_flops_of(ops, Pass::forward) == doctest::Approx(27 * 4 * 1152 * 3200.0 * 3200));
  CHECK(attention_flops_of(ops, Pass::dgrad) == doctest::Approx(2.5 * attention_flops_of(ops, Pass::forward)));
  // Two norms, two residual adds, biases of projection, fc1 and fc2, GELU, rotary of q and k with its angles, values copied.
  const double layer = 2 * 4 * 1152 + 2 * 6 * 1152 + 4 * (1152 + 4304 + 1152) + 4 * 4304 + 2 * (60 * 1152 + 40 * 72) + 4 * 1152;
  const double ends = 4 * 1152 + 14 * 1152;  // the convolution's bias, the position table
  CHECK(moved_bytes(ops, KernelKind::memory, false) / 3200 == doctest::Approx(27 * layer + ends));
}

TEST_CASE("rotary and biases as each build runs them: bytes and launches of a layer") {
  const Shapes s = shapes_of(4096, 4096);
  constexpr TowerBuild kPublished{TowerBuild::Recompute::never, false, true, false};
  const auto kernel = [&](const TowerBuild& build, const char* name, bool backward) {
    Kernel sum;
    sum.bytes = sum.launches = 0;
    for (const Op& op : vision_encoder(qwen3_vl(), s, kImage, build))
      for (const Kernel& k : (backward ? op.backward : op.forward).kernels)
        if (std::string(k.name) == name && k.kind == KernelKind::memory) {
          sum.bytes += k.bytes / (27 * 3200);
          sum.launches += k.launches / 27;
        }
    return sum;
  };
  CHECK(kernel({}, "rotary", false).launches == 24);
  CHECK(kernel({}, "rotary", true).launches == 18);
  CHECK(kernel({}, "rotary", true).bytes == doctest::Approx(2 * (68 * 1152 + 8 * 72)));
  CHECK(kernel(kPublished, "rotary", false).launches == 14);
  CHECK(kernel(kPublished, "rotary", false).bytes == doctest::Approx(2 * (52 * 1152 + 8 * 72)));
  CHECK(kernel(kPublished, "rotary", true).bytes == doctest::Approx(2 * (72 * 1152 + 8 * 72)));
  // Transformer Engine adds the first linear's bias in its GEMM and sums the gradient there; torch sums it apart.
  CHECK(kernel({}, "vision_qkv", false).bytes == 0);
  CHECK(kernel({}, "vision_qkv", true).bytes == 0);
  CHECK(kernel(kPublished, "vision_qkv", false).bytes == 0);
  CHECK(kernel(kPublished, "vision_qkv", true).bytes == doctest::Approx(2.0 * 3 * 1152));
  CHECK(kernel({}, "vision_fc2", false).bytes == doctest::Approx(4.0 * 1152));
  CHECK(kernel(kPublished, "vision_fc2", false).bytes == 0);
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
  // One image of 3200 places in a row of 4096 tokens: 93 launches for the image, 47 for the row, 62 and 3 calls for the
  // micro-batch; 8 numbers a place at 129 ns, tokens listed once and looked through once at 19 ns.
  const OpList one = vision_encoder(qwen3_vl(), s, kImage);
  CHECK(serial_ms(one, 0, 7) == doctest::Approx(7e-3 * (93 + 47 + 62) + 8 * 3200 * 0.129e-3 + 2 * 4096 * 0.019e-3));
  CHECK(serial_ms(one, 1, 0) - serial_ms(one, 0, 0) == doctest::Approx(3e-3));
  // A study of published steps puts an image at 0.5 to 3.5 ms, 1,000 places at 0.5 to 1.4.
  const auto with = [&](double images, double positions) {
    VisionLoad load = kImage;
    load.images = images;
    load.positions = positions;
    return serial_ms(vision_encoder(qwen3_vl(), s, load));
  };
  CHECK(with(2, 0) - with(1, 0) > 0.5);
  CHECK(with(2, 0) - with(1, 0) < 3.5);
  CHECK(with(1, 1000) - with(1, 0) > 0.5);
  CHECK(with(1, 1000) - with(1, 0) < 1.4);
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
  s.precision = s.run_precision = Precision::nvfp4;
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
