// SPDX-License-Identifier: Apache-2.0
// Computes: the vision tower of one micro-batch on a rank: all its layers in one list, each operation times
//   its depth.
// Formula: a layer keeps, for P patches of width h: two norms' inputs and outputs 8*P*h, q, k, v and the
//   context 8*P*h/tp, fc1 output and activation (g + 1)*2*P*f/tp, log-sum-exp 4*P*heads/tp, statistics;
//   attention 4*h/tp*sum(P_span^2) FLOP, no mask, 2.5 times that backward; two all-reduces of [P, h] a
//   layer and pass. Element-wise work is not fused: biases, rotary in fp32, GELU. Before it the host loops
//   over images while the device idles: 1.5 ms an image, 0.75 us a patch, 1.2 ms a sample, 2 ms a
//   micro-batch.
// Source: Megatron-Bridge models/qwen_vl/modelling_qwen3_vl (2026-03); host figures and rotary bytes:
//   estimates that fit the published Qwen3-VL-235B steps (ranges 0.5..3.5, 0.5..1.4, 0.5..2.6 and 1..20 of
//   the same units).
// Valid when: tp divides the heads; every rank of a replica has the same images.
// Ignores: graphs of the tower, selective recompute that switches on the tower's attention recompute
//   whatever modules are named (free of memory with fused attention).
// Checked by: tests/block/vision_test.cpp, tests/laws/param_counts_test.cpp
#include <cstddef>

#include "block/vision_parts.hpp"

namespace shardfit::block {
namespace {

constexpr double kBackwardAttention = 2.5;  ///< FLOP backward over forward: scores are made again
constexpr double kLogSumExp = 4;            ///< B a query and head
constexpr double kQkv = 3;
// Bytes of one element of q or k that the fp32 rotary moves (counted: cast, rotate half, two products, sum,
// cast back, partly fused; sum of a layer 150 kB a patch at width 1152, estimated from step times).
constexpr double kRotaryForward = 32, kRotaryBackward = 48;
constexpr double kResidualForward = 3, kResidualBackward = 3;  ///< tensors moved by a residual add
constexpr double kPositionForward = 7,
                 kPositionBackward = 5;  ///< tensors moved: four weighted table rows, add

// Host (kind: estimate, fitted to published steps of one model).
constexpr double kImageMs = 1.5, kPatchMs = 0.75e-3, kSampleMs = 1.2, kMicroBatchMs = 2;
// A tower layer in eager mode: 0.55 ms forward and 0.9 ms backward (ranges 0.3..0.75, 0.5..1.3), launches included, at
// the host costs of hardware/step-time.json; a dense decoder layer's modules are 0.95 and 1.2 units.
constexpr double kLayerForwardUnits = 0.89, kLayerForwardKernels = 25;
constexpr double kLayerBackwardUnits = 1.34, kLayerBackwardKernels = 45;
constexpr double kEdgeUnits = 0.2, kEdgeForwardKernels = 8, kEdgeBackwardKernels = 6;

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
      kImageMs * load.images + kPatchMs * load.patches + kSampleMs * double(s.micro_batch) + kMicroBatchMs;
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
  add_host(op.forward, kEdgeUnits, kEdgeForwardKernels);
  if (runs_backward(s)) add_host(op.backward, kEdgeUnits, kEdgeBackwardKernels);
  return op;
}

void add_residual(Op& op, const Shapes& s) {
  const double tensor = double(s.tokens) * double(s.hidden) * s.e;
  add_memory(op.forward, "residual", kResidualForward * tensor);
  if (runs_backward(s)) add_memory(op.backward, "residual", kResidualBackward * tensor, Pass::dgrad);
}

Op qkv_op(const VisionSpec& v, const Shapes& s) {
  Op op = vision_op("vision_qkv", kView);
  add_vision_norm(op, kGroup, v.hidden_size, true, s);
  VisionLinear qkv;
  qkv.name = "vision_qkv";
  qkv.out = std::int64_t(kQkv) * v.hidden_size;
  qkv.in = v.hidden_size;
  qkv.bias = v.qkv_bias;
  add_vision_linear(op, qkv, s);
  const double rotated = 2 * double(s.tokens) * v.hidden_size / s.tp;
  add_memory(op.forward, "rotary", kRotaryForward * rotated);
  if (runs_backward(s)) add_memory(op.backward, "rotary", kRotaryBackward * rotated, Pass::dgrad);
  add_input_gradient_reduction(op, v.hidden_size, s);
  return op;
}

/// The attention kernels of `layers` layers, one each, over spans whose squares sum to `squares`.
void add_attention(Op& op, const VisionSpec& v, double squares, int layers, const Shapes& s) {
  Kernel kernel;
  kernel.name = "vision_attention";
  kernel.kind = KernelKind::attention;
  kernel.math = s.precision == Precision::fp32 ? Math::fp32 : Math::bf16;
  kernel.head_dim = v.head_dim;
  kernel.effective_sequence = squares / double(s.tokens);
  kernel.flops = 4 * double(v.hidden_size) / s.tp * squares;
  op.forward.kernels.insert(op.forward.kernels.end(), std::size_t(layers), kernel);
  if (!runs_backward(s)) return;
  kernel.pass = Pass::dgrad;
  kernel.flops *= kBackwardAttention;
  op.backward.kernels.insert(op.backward.kernels.end(), std::size_t(layers), kernel);
}

/// Attention of one layer without its kernel: lengths differ between layers, so kernels are listed one by
/// one.
Op attention_op(const VisionSpec& v, const Shapes& s) {
  Op op = vision_op("vision_attention", kView);
  op.recomputed_by = {RecomputeModule::core_attn};
  const double rows = double(s.tokens), width = double(v.hidden_size) / s.tp;
  keep(op, s, "query_key_value", tensor_bytes(rows, kQkv * width, s.e));
  keep(op, s, "log_sum_exp", tensor_bytes(rows, double(v.num_heads) / s.tp, kLogSumExp));
  return op;
}

void add_all_attention(Op& op, const VisionSpec& v, const VisionLoad& load, const Shapes& s) {
  if (!v.attention_window) return add_attention(op, v, load.patches_squared, v.depth, s);
  const double side = double(*v.attention_window) / v.patch_size;
  const int full = int(v.full_attention_layers.size());
  add_attention(op, v, load.patches_squared, full, s);
  add_attention(op, v, load.patches * side * side, v.depth - full, s);
}

Op projection_op(const VisionSpec& v, const Shapes& s) {
  Op op = vision_op("vision_projection", kView);
  VisionLinear proj;
  proj.name = "vision_projection";
  proj.out = proj.in = v.hidden_size;
  proj.row_parallel = true;
  proj.bias = v.proj_bias;
  add_vision_linear(op, proj, s);
  keep(op, s, "context", tensor_bytes(double(s.tokens), double(v.hidden_size) / s.tp, s.e));
  add_output_reduction(op, v.hidden_size, s);
  add_residual(op, s);
  return op;
}

Op fc1_op(const VisionSpec& v, const Shapes& s) {
  Op op = vision_op("vision_fc1", kView);
  add_vision_norm(op, kGroup, v.hidden_size, true, s);
  const int inputs = v.mlp_gated ? 2 : 1;
  VisionLinear fc1;
  fc1.name = "vision_fc1";
  fc1.out = std::int64_t(inputs) * v.intermediate_size;
  fc1.in = v.hidden_size;
  fc1.bias = v.mlp_bias;
  add_vision_linear(op, fc1, s);
  const double elements = double(s.tokens) * v.intermediate_size / s.tp;
  keep(op, s, "fc1_out", tensor_bytes(elements, inputs, s.e));
  add_memory(op.forward, "vision_activation", (inputs + 1) * s.e * elements);
  add_input_gradient_reduction(op, v.hidden_size, s);
  if (!runs_backward(s)) return op;
  add_memory(op.backward, "vision_activation", (2 * inputs + 1) * s.e * elements, Pass::dgrad);
  op.transients.push_back(
      {"fc1_and_stream_gradient",
       tensor_bytes(elements, inputs, s.e) + tensor_bytes(double(s.tokens), double(s.hidden), s.e),
       Moment::backward,
       {}});
  return op;
}

Op fc2_op(const VisionSpec& v, const Shapes& s) {
  Op op = vision_op("vision_fc2", kView);
  VisionLinear fc2;
  fc2.name = "vision_fc2";
  fc2.out = v.hidden_size;
  fc2.in = v.intermediate_size;
  fc2.row_parallel = true;
  fc2.bias = v.mlp_bias;
  add_vision_linear(op, fc2, s);
  keep_linear_input(op, s, "activation_out", double(s.tokens), double(v.intermediate_size) / s.tp);
  add_output_reduction(op, v.hidden_size, s);
  add_residual(op, s);
  add_host(op.forward, kLayerForwardUnits, kLayerForwardKernels);
  if (runs_backward(s)) add_host(op.backward, kLayerBackwardUnits, kLayerBackwardKernels);
  return op;
}

void repeat(Work& work, double n) {
  for (Kernel& kernel : work.kernels) {
    kernel.groups *= n;
    kernel.bytes *= n;
  }
  for (Traffic& traffic : work.traffic) traffic.calls *= n;
  work.host.units *= n;
  work.host.kernels *= n;
}

/// One layer's operation as that of all layers. Transients stay those of one.
Op repeat(Op op, int depth) {
  for (Weight& w : op.weights) w.count *= depth;
  for (Saved& saved : op.saved) saved.bytes = saved.bytes * depth;
  repeat(op.forward, depth);
  repeat(op.backward, depth);
  return op;
}

Op extra_norms_op(const VisionSpec& v, const Shapes& s) {
  Op op = vision_op("vision_norms", kView);
  for (int i = 0; i < v.extra_norms; ++i) add_vision_norm(op, kGroup, v.hidden_size, true, s);
  return op;
}

}  // namespace

OpList vision_encoder(const VisionSpec& v, const Shapes& shapes, const VisionLoad& load) {
  const Shapes s = vision_shapes(shapes, load.patches, v.hidden_size, v.norm);
  OpList ops{prepare_op(load, shapes), patch_embedding_op(v, s)};
  ops.push_back(repeat(qkv_op(v, s), v.depth));
  ops.push_back(repeat(attention_op(v, s), v.depth));
  if (load.patches > 0) add_all_attention(ops.back(), v, load, s);
  for (const Op& op : {projection_op(v, s), fc1_op(v, s), fc2_op(v, s)}) ops.push_back(repeat(op, v.depth));
  if (v.extra_norms > 0) ops.push_back(extra_norms_op(v, s));
  if (load.patches <= 0) clear_work(ops);
  return ops;
}

}  // namespace shardfit::block
