// SPDX-License-Identifier: Apache-2.0
// Computes:   the layers of the vision tower of one micro-batch on a rank, in one list, each operation times its depth; and
//             the DeepStack mergers, which Megatron-Bridge runs inside the same checkpointed function.
// Formula:    a layer keeps, for P patches of width h: two norms' inputs and outputs 8*P*h, q, k, v and the context
//             8*P*h/tp, fc1 output and activation (g + 1)*2*P*f/tp, log-sum-exp 4*P*heads/tp, statistics; attention
//             4*h/tp*sum(P_span^2) FLOP, no mask, 2.5 times that backward; two all-reduces of [P, h] a layer and pass.
//             Element-wise work is not fused: biases, GELU, rotary (vision_rotary.cpp). A published module is not split and
//             keeps RMSNorm's input in fp32 (4 B more) and a gate's activation (2*P*f more); one whose attention takes no
//             spans calls it for each image, frame or window, after reading their lengths from the device in every layer.
// Source:     Megatron-Bridge 067f987df models/qwen_vl/modelling_qwen3_vl (vision_model.py, attention.py,
//             transformer_config.py; transformer_block.py for the mergers), Transformer Engine v2.12 pytorch/attention;
//             transformers qwen2_5_vl and glm4v. Calls and launches were counted, not traced.
// Valid when: tp divides the heads of a tower that is split.
// Ignores:    graphs of the tower; a window that an image's edge cuts; the operations of an RMSNorm that is written out,
//             but for one pass.
// Checked by: tests/block/vision_test.cpp, tests/laws/param_counts_test.cpp.
#include <cstddef>

#include "block/launches.hpp"
#include "block/vision_parts.hpp"

namespace shardfit::block {
namespace {

constexpr double kBackwardAttention = 2.5;  ///< FLOP backward over forward: scores are made again
constexpr double kLogSumExp = 4;            ///< B a query and head
constexpr double kQkv = 3;
constexpr double kResidualForward = 3, kResidualBackward = 3;  ///< tensors moved by a residual add
constexpr double kSplitBytes = 4;  ///< an element of q, k or v that is copied or joined (counted: read, write)

/// Calls and launches of a tower layer beside the lists' (kind: counted).
struct LayerHost {
  double forward_calls, forward_launches, backward_calls, backward_launches;
};

// Megatron's. Forward calls: layer, attention, split of q, k and v, core attention's four, two residual adds, MLP; launches:
// random state. Backward calls: attention's and the split's function, hooks of 4 biases and of both norms' weight and bias;
// launches: a reduction of either norm, the 8 small gradients added to their buffers.
constexpr LayerHost kMegatronLayer{10, 1, 10, 10};
// Transformers'. Forward calls: block, two norms, attention, MLP, activation; launches: values in one piece. Backward calls:
// hooks of biases and norms; launches: both norms' reductions, all gradients added to their buffers (4 weights, 4 biases,
// norms).
constexpr LayerHost kPublishedLayer{6, 1, 8, 12};

/// Megatron-Bridge leaves the longest span on the device (build_packed_seq_params): Transformer Engine compares it for
/// queries and keys with the layer before (a launch and a read each), and the kernels' arguments read it twice, forward
/// and backward.
constexpr double kSpanReadsForward = 4, kSpanCompares = 2, kSpanReadsBackward = 2;
/// Transformers' attention without spans reads their lengths for q, k and v apart. From the first read on the device is idle.
constexpr double kLengthReads = 3;

// Launches of torch's attention for one span (kind: counted in transformers integrations/sdpa_attention.py): kernel, result in
// one piece; backward that of the kernels.
constexpr double kSpanForwardKernels = 2, kSpanBackwardKernels = kAttentionBackwardLaunches;

constexpr ParamGroup kGroup = ParamGroup::vision_tower;
constexpr View kView = View::vision_encoder;

void add_residual(Op& op, const Shapes& s) {
  const double tensor = double(s.tokens) * double(s.hidden) * s.e;
  add_memory(op.forward, "residual", kResidualForward * tensor);
  if (runs_backward(s)) add_memory(op.backward, "residual", kResidualBackward * tensor, Pass::dgrad);
}

Op qkv_op(const VisionSpec& v, const Shapes& s, const TowerBuild& build) {
  Op op = vision_op("vision_qkv", kView);
  add_vision_norm(op, kGroup, v.hidden_size, true, s, {LinearModule::linear_qkv});
  VisionLinear qkv;
  qkv.name = "vision_qkv";
  qkv.out = std::int64_t(kQkv) * v.hidden_size;
  qkv.in = v.hidden_size;
  qkv.bias = v.qkv_bias;
  qkv.bias_pass = bias_pass(build, false);
  qkv.adapter = LinearModule::linear_qkv;
  add_vision_linear(op, qkv, s);
  const double width = double(s.tokens) * v.hidden_size / s.tp;
  add_rotation(op, v, s, build);
  // Fused attention wants the values in one piece; the gradients of all three are joined for the projection.
  add_memory(op.forward, "vision_values", kSplitBytes * width);
  if (runs_backward(s)) add_memory(op.backward, "vision_qkv_gradient", kSplitBytes * kQkv * width, Pass::dgrad);
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
  kernel.launches = kAttentionBackwardLaunches;
  op.backward.kernels.insert(op.backward.kernels.end(), std::size_t(layers), kernel);
}

/// Attention of one layer without its kernel: lengths differ between layers, so kernels are listed one by
/// one.
Op attention_op(const VisionSpec& v, const Shapes& s, const TowerBuild& build) {
  Op op = vision_op("vision_attention", kView);
  // Bridge copies the granularity, not the modules, whose default is core_attn: any selective recompute runs it again.
  if (build.recompute == TowerBuild::Recompute::as_decoder && build.split_over_tp && runs_backward(s))
    op.recomputed_by = EnumSet<RecomputeModule>::from_bits((1u << kCount<RecomputeModule>)-1);
  const double rows = double(s.tokens), width = double(v.hidden_size) / s.tp;
  keep(op, s, "query_key_value", tensor_bytes(rows, kQkv * width, s.e));
  keep(op, s, "log_sum_exp", tensor_bytes(rows, double(v.num_heads) / s.tp, kLogSumExp));
  return op;
}

/// Values of the device that `layers` layers read before they go on. After the first the device waits for what follows.
void add_reads(Work& work, double reads, double launches, int layers) {
  work.host.kernels += layers * (reads * kReadLaunches + launches);
  work.host.idle_launches += layers * ((reads - 1) * kReadLaunches + launches + 1);
}

/// Launches of an attention that is called for each span, in `layers` layers, beside the kernels'.
void add_span_calls(Op& op, double spans, int layers, const Shapes& s) {
  op.forward.host.kernels += (kSpanForwardKernels * spans - 1) * layers;
  if (runs_backward(s)) op.backward.host.kernels += kSpanBackwardKernels * (spans - 1) * layers;
}

void add_all_attention(Op& op, const VisionSpec& v, const VisionLoad& load, const Shapes& s, const TowerBuild& build) {
  const double side = v.attention_window ? double(*v.attention_window) / v.patch_size : 0;
  const int full = v.attention_window ? int(v.full_attention_layers.size()) : v.depth;
  add_attention(op, v, load.patches_squared, full, s);
  if (full < v.depth) add_attention(op, v, load.patches * side * side, v.depth - full, s);
  if (build.split_over_tp) {
    add_reads(op.forward, kSpanReadsForward, kSpanCompares, v.depth);
    if (runs_backward(s)) add_reads(op.backward, kSpanReadsBackward, 0, v.depth);
  }
  if (!build.attention_by_span) return;
  add_reads(op.forward, kLengthReads, 0, v.depth);
  add_span_calls(op, load.spans, full, s);
  if (full < v.depth) add_span_calls(op, load.patches / (side * side), v.depth - full, s);
}

Op projection_op(const VisionSpec& v, const Shapes& s, const TowerBuild& build) {
  Op op = vision_op("vision_projection", kView);
  VisionLinear proj;
  proj.name = "vision_projection";
  proj.out = proj.in = v.hidden_size;
  proj.row_parallel = true;
  proj.bias = v.proj_bias;
  proj.bias_pass = bias_pass(build, true);
  proj.adapter = LinearModule::linear_proj;
  add_vision_linear(op, proj, s);
  keep(op, s, "context", tensor_bytes(double(s.tokens), double(v.hidden_size) / s.tp, s.e));
  add_output_reduction(op, v.hidden_size, s);
  add_residual(op, s);
  return op;
}

Op fc1_op(const VisionSpec& v, const Shapes& s, const TowerBuild& build) {
  Op op = vision_op("vision_fc1", kView);
  add_vision_norm(op, kGroup, v.hidden_size, true, s, {LinearModule::linear_fc1});
  const int inputs = v.mlp_gated ? 2 : 1;
  VisionLinear fc1;
  fc1.name = "vision_fc1";
  fc1.out = std::int64_t(inputs) * v.intermediate_size;
  fc1.in = v.hidden_size;
  fc1.bias = v.mlp_bias;
  fc1.bias_pass = bias_pass(build, true);
  fc1.adapter = LinearModule::linear_fc1;
  add_vision_linear(op, fc1, s);
  const double elements = double(s.tokens) * v.intermediate_size / s.tp;
  keep(op, s, "fc1_out", tensor_bytes(elements, inputs, s.e));
  if (s.eager_elementwise && v.mlp_gated) keep(op, s, "gate_activation", tensor_bytes(elements, 1, s.e));
  add_memory(op.forward, "vision_activation", (inputs + 1) * s.e * elements);
  add_input_gradient_reduction(op, v.hidden_size, s);
  if (!runs_backward(s)) return op;
  add_memory(op.backward, "vision_activation", (2 * inputs + 1) * s.e * elements, Pass::dgrad);
  op.transients.push_back({"fc1_and_stream_gradient",
                           tensor_bytes(elements, inputs, s.e) + tensor_bytes(double(s.tokens), double(s.hidden), s.e),
                           Moment::backward,
                           {}});
  return op;
}

Op fc2_op(const VisionSpec& v, const Shapes& s, const TowerBuild& build) {
  Op op = vision_op("vision_fc2", kView);
  VisionLinear fc2;
  fc2.name = "vision_fc2";
  fc2.out = v.hidden_size;
  fc2.in = v.intermediate_size;
  fc2.row_parallel = true;
  fc2.bias = v.mlp_bias;
  fc2.bias_pass = bias_pass(build, true);
  fc2.adapter = LinearModule::linear_fc2;
  add_vision_linear(op, fc2, s);
  keep_linear_input(op, s, "activation_out", double(s.tokens), double(v.intermediate_size) / s.tp, {}, {},
                    {LinearModule::linear_fc2});
  add_output_reduction(op, v.hidden_size, s);
  add_residual(op, s);
  const LayerHost& host = build.split_over_tp ? kMegatronLayer : kPublishedLayer;
  add_host(op.forward, host.forward_calls, host.forward_launches);
  if (runs_backward(s)) add_host(op.backward, host.backward_calls, host.backward_launches);
  return op;
}

void repeat(Work& work, double n) {
  for (Kernel& kernel : work.kernels) {
    kernel.groups *= n;
    kernel.bytes *= n;
    kernel.launches *= n;
  }
  for (Traffic& traffic : work.traffic) traffic.calls *= n;
  work.host.calls *= n;
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

}  // namespace

OpList vision_layers(const VisionSpec& v, const Shapes& shapes, const Shapes& projection, const VisionLoad& load,
                     const TowerBuild& build) {
  const Shapes s = vision_shapes(shapes, load.patches, v.hidden_size, v.norm, build);
  OpList ops;
  ops.push_back(repeat(qkv_op(v, s, build), v.depth));
  ops.push_back(repeat(attention_op(v, s, build), v.depth));
  if (load.patches > 0) add_all_attention(ops.back(), v, load, s, build);
  for (const Op& op : {projection_op(v, s, build), fc1_op(v, s, build), fc2_op(v, s, build)})
    ops.push_back(repeat(op, v.depth));
  if (v.deepstack) {
    const bool holds_input = !runs_backward(s);  // else the next layer keeps the same tensor
    for (std::size_t i = 0; i < v.deepstack->vision_layer_indexes.size(); ++i)
      ops.push_back(deepstack_merger_op(v, projection, load, build, holds_input));
  }
  if (load.patches <= 0) clear_work(ops);
  return ops;
}

}  // namespace shardfit::block
