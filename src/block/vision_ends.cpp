// SPDX-License-Identifier: Apache-2.0
// Computes: the ends of the vision tower of one micro-batch on a rank: the host's work on pictures before it, patches
//   to rows, norms outside its layers.
// Formula: before the tower the host loops over images while the device idles: 1.5 ms an image, 0.75 us a place in a
//   picture (Python lists of Qwen3-VL's interpolation; frames of a clip share theirs), 1.2 ms a sample, 2 ms a
//   micro-batch. A patch becomes a row by a GEMM; four weighted rows of the position table are added.
// Source: Megatron-Bridge models/qwen_vl/modelling_qwen3_vl/vision_model.py (fast_pos_embed_interpolate, rot_pos_emb;
//   2026-03); host figures: estimates that fit the published Qwen3-VL-235B steps (ranges 0.5..3.5, 0.5..1.4, 0.5..2.6
//   and 1..20 of the same units).
// Valid when: every rank of a replica has the same images.
// Ignores: that other models spend other times an image, a sample and a micro-batch than Qwen3-VL.
// Checked by: tests/block/vision_test.cpp, tests/laws/param_counts_test.cpp
#include "block/vision_parts.hpp"

namespace shardfit::block {
namespace {

constexpr double kPositionForward = 7,
                 kPositionBackward = 5;  ///< tensors moved: four weighted table rows, add

// Host (kind: estimate, fitted to published steps of one model).
constexpr double kImageMs = 1.5, kPlaceMs = 0.75e-3, kSampleMs = 1.2, kMicroBatchMs = 2;
/// Calls and launches of patch embedding and position table beside the lists' (kind: counted).
constexpr double kEdgeCalls = 4, kEdgeForwardLaunches = 6, kEdgeBackwardLaunches = 4;

constexpr ParamGroup kGroup = ParamGroup::vision_tower;
constexpr View kView = View::vision_encoder;

Weight tower_weight(const char* name, std::int64_t rows, std::int64_t cols, const Shapes& s) {
  Weight w;
  w.name = name;
  w.group = kGroup;
  w.rows = rows;
  w.cols = cols;
  w.trainable = trains_base(s);
  return w;
}

Op prepare_op(const VisionLoad& load, const Shapes& s) {
  Op op = vision_op("vision_prepare", kView);
  op.forward.host.serial_ms =
      kImageMs * load.images + kPlaceMs * load.positions + kSampleMs * double(s.micro_batch) + kMicroBatchMs;
  return op;
}

Op patch_embedding_op(const VisionSpec& v, const Shapes& s) {
  Op op = vision_op("patch_embedding", kView);
  VisionLinear conv;  // a convolution whose stride is its kernel: a GEMM over flattened patches
  conv.name = "patch_embedding";
  conv.out = v.hidden_size;
  conv.in = std::int64_t(v.in_channels) * v.temporal_patch_size * v.patch_size * v.patch_size;
  conv.split = Split::replicated;
  conv.bias = v.patch_bias;
  conv.input_grad = false;
  add_vision_linear(op, conv, s);
  op.weights.front().bf16_linear = false;  // no linear module
  keep_linear_input(op, s, "pixels", double(s.tokens), double(conv.in));
  if (v.position_table_size > 0) {
    op.weights.push_back(tower_weight("position_embedding", v.position_table_size, v.hidden_size, s));
    const double tensor = double(s.tokens) * double(s.hidden) * s.e;
    add_memory(op.forward, "position_embedding", kPositionForward * tensor);
    if (trains_base(s))
      add_memory(op.backward, "position_embedding", kPositionBackward * tensor, Pass::wgrad);
  }
  add_host(op.forward, kEdgeCalls, kEdgeForwardLaunches);
  if (runs_backward(s)) add_host(op.backward, kEdgeCalls, kEdgeBackwardLaunches);
  return op;
}

Op extra_norms_op(const VisionSpec& v, const Shapes& s) {
  Op op = vision_op("vision_norms", kView);
  for (int i = 0; i < v.extra_norms; ++i) add_vision_norm(op, kGroup, v.hidden_size, true, s);
  return op;
}

}  // namespace

OpList vision_ends(const VisionSpec& v, const Shapes& shapes, const VisionLoad& load, const TowerBuild& build) {
  const Shapes s = vision_shapes(shapes, load.patches, v.hidden_size, v.norm, build);
  OpList ops{prepare_op(load, shapes), patch_embedding_op(v, s)};
  if (v.extra_norms > 0) ops.push_back(extra_norms_op(v, s));
  if (load.patches <= 0) clear_work(ops);
  return ops;
}

}  // namespace shardfit::block
