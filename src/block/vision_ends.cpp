// SPDX-License-Identifier: Apache-2.0
// Computes:   the ends of the vision tower of one micro-batch on a rank: the host's work on pictures before it, patches to
//             rows, norms outside its layers.
// Formula:    before and after the tower the host reads grids and ids off the device all the time, which idles meanwhile:
//             59 launches and 17 reads an image, 33 and 7 a row of tokens, 46 and 8 a micro-batch (a read is two launches,
//             see launches.hpp). A place in a picture makes 8 numbers in Python lists and then a tensor of them
//             (interpolation; frames of a clip share theirs), a token one number; each image looks for videos among all
//             tokens of its row. A patch becomes a row by a GEMM; four weighted rows of the position table are added.
// Source:     Megatron-Bridge 067f987df models/qwen_vl/modelling_qwen3_vl/{vision_model,rope,utils,model}.py,
//             qwen3_vl_step.py: counted. Lists: transformers pull request 24772 (2023: torch.tensor of 1,024,000 Python
//             integers in 0.1125 s), openpilot pull request 23485 (2022: tolist of 20 numbers in 0.378 us).
// Valid when: every rank of a replica has the same images.
// Ignores:    what the code around other families' towers, and around published modules, differs in from this (a run of
//             them is told so); views; mRoPE on stages without the tower.
// Checked by: tests/block/vision_test.cpp, tests/laws/param_counts_test.cpp.
#include "block/launches.hpp"
#include "block/vision_parts.hpp"

namespace shardfit::block {
namespace {

/// Tensors moved: four weighted table rows, add
constexpr double kPositionForward = 7, kPositionBackward = 5;

/// Host work in the loops, by what there is one of (kind: counted). `launches`: of kernels and of small operations on the CPU.
struct LoopWork {
  double calls, launches, reads;
};

// An image. Interpolation: two linspace, floors, ceilings, 16 products and sums over its grid, on the CPU, two reads; split and
// order of its places: 5 launches, 5 reads. Rotation angles: 15 and 7. Its positions in the text: 13 on the CPU, 3 reads.
constexpr LoopWork kImage{0, 26 + 5 + 15 + 13, 2 + 5 + 7 + 3};
// A row of tokens: where its pictures begin, what kind they are, its ids as a list, positions written: 25 launches, three masks
// turned to indices, two counts, copies; 8 operations on the CPU.
constexpr LoopWork kRow{0, 25 + 8, 7};
// A micro-batch. After the longest row is read: grid statistics, masks, patches cast (19); indices and weights copied up
// and waited for (2); the size of the rotary table and all patches (5, 2 reads); lengths of spans (9, 1 read). After the
// tower: sizes of the features (3, 1 read), masks of the positions (4), the mask of the places to fill as indices (4, 1
// read). Calls: model, tower, block.
constexpr LoopWork kMicroBatch{3, 19 + 2 + 5 + 9 + 3 + 4 + 4, 1 + 2 + 2 + 1 + 1 + 1};

/// Of a number in a list, us (kind: measured, see Source): made of a tensor, or looked at; put in a tensor.
constexpr double kListNumberUs = 0.019, kTensorNumberUs = 0.110;
constexpr double kNumbersOfPlace = 8;  ///< 4 indices and 4 weights (counted)

void add_loop(SerialHost& host, const LoopWork& work, double n) {
  host.calls += n * work.calls;
  host.launches += n * (work.launches + kReadLaunches * work.reads);
}

/// Calls and launches of patch embedding and position table beside the lists' (kind: counted): both modules, the
/// convolution and the rotary table; product with the weights, three sums, pictures joined, sum with the patches, angles
/// looked up and doubled.
constexpr double kEdgeCalls = 4, kEdgeForwardLaunches = 8, kEdgeBackwardLaunches = 4;

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
  SerialHost& host = op.forward.host.serial;
  const double rows = double(s.micro_batch), tokens = double(s.sequence) * rows;
  add_loop(host, kImage, load.images);
  add_loop(host, kRow, rows);
  add_loop(host, kMicroBatch, 1);
  const double looked_at = tokens + double(s.sequence) * load.images;
  host.list_us = kNumbersOfPlace * load.positions * (kListNumberUs + kTensorNumberUs) + kListNumberUs * looked_at;
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
  conv.bias_pass = BiasPass::both;
  conv.input_grad = false;
  add_vision_linear(op, conv, s);
  op.weights.front().bf16_linear = false;  // no linear module
  keep_linear_input(op, s, "pixels", double(s.tokens), double(conv.in));
  if (v.position_table_size > 0) {
    op.weights.push_back(tower_weight("position_embedding", v.position_table_size, v.hidden_size, s));
    const double tensor = double(s.tokens) * double(s.hidden) * s.e;
    add_memory(op.forward, "position_embedding", kPositionForward * tensor);
    if (trains_base(s)) add_memory(op.backward, "position_embedding", kPositionBackward * tensor, Pass::wgrad);
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
