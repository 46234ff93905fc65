// SPDX-License-Identifier: Apache-2.0
// Computes:   linears, norms and tensor-parallel traffic as the vision tower runs them.
// Formula:    bf16 GEMMs over all patches of the micro-batch; a bias that a GEMM does not add is a pass (read and write);
//             all-reduces of [P, columns] over tp after a row-parallel linear and for the input gradient of a
//             column-parallel one, exposed.
// Source:     Megatron-Bridge models/qwen_vl/modelling_qwen3_vl (tower config: no fp8, sequence parallelism off).
// Valid when: tp divides heads and widths (rounded up where it does not).
// Ignores:    host work of published modules that differs from Bridge's own.
// Checked by: tests/block/vision_test.cpp.
#include "block/vision_parts.hpp"

#include <cmath>

namespace shardfit::block {
namespace {

/// Tensors moved: read, write; inputs, gradients, reductions
constexpr double kNormForward = 2, kNormBackward = 5;

constexpr double kFp32Bytes = 4;

std::int64_t share(std::int64_t width, int tp) { return (width + tp - 1) / tp; }

void add_reduction(Work& work, double columns, const Shapes& s) {
  Traffic t;
  t.name = "vision_all_reduce";
  t.kind = CollectiveKind::all_reduce;
  t.bytes = double(s.tokens) * columns * s.e;
  work.traffic.push_back(t);
}

}  // namespace

Shapes vision_shapes(const Shapes& s, double rows, std::int64_t hidden, NormKind norm, const TowerBuild& build) {
  Shapes v = s;
  v.train_weights = trains_base(s);
  if (!build.split_over_tp) v.tp = 1;
  v.eager_elementwise = build.written_out;
  if (is_quantized(s.precision)) v.precision = Precision::bf16;
  v.e = bytes_of(activation_dtype(v.precision));
  v.fp8_attention = false;
  v.attention_dropout = v.hidden_dropout = false;
  v.sequence_parallel = false;
  v.cp = v.ep = v.etp = 1;
  v.tokens = v.stream_tokens = std::llround(rows);
  v.hidden = hidden;
  v.norm = norm;
  v.norm_post = false;
  v.residual_streams = 1;
  return v;
}

Op vision_op(const char* name, View view) {
  Op op;
  op.name = name;
  op.view = view;
  return op;
}

void add_vision_linear(Op& op, const VisionLinear& l, const Shapes& s) {
  const bool split = l.split == Split::tensor;
  Linear linear;
  linear.name = l.name;
  linear.group = l.group;
  linear.tokens = double(s.tokens);
  linear.out = split && !l.row_parallel ? share(l.out, s.tp) : l.out;
  linear.in = split && l.row_parallel ? share(l.in, s.tp) : l.in;
  linear.split = l.split;
  linear.row_parallel = l.row_parallel;
  linear.bias = l.bias;
  linear.quantized = false;
  linear.adapter = l.adapter;
  Shapes own = s;
  own.needs_input_grad = l.input_grad && runs_backward(s);
  const std::size_t weight = op.weights.size();
  add_linear(op, linear, own);
  op.weights[weight].bf16_linear = true;
  if (l.bias && l.bias_pass == BiasPass::both) add_memory(op.forward, l.name, 2 * double(s.tokens) * double(linear.out) * s.e);
  if (l.bias && l.bias_pass != BiasPass::none && trains_base(s))
    add_memory(op.backward, l.name, double(s.tokens) * double(linear.out) * s.e, Pass::wgrad);
}

void add_vision_norm(Op& op, ParamGroup group, std::int64_t width, bool input_held, const Shapes& s,
                     EnumSet<LinearModule> adapters) {
  const std::size_t first = op.weights.size();
  add_norm_weights(op, "norm", width, s.norm, s);
  for (std::size_t i = first; i < op.weights.size(); ++i) op.weights[i].group = group;
  const double rows = double(s.tokens), tensor = rows * double(width) * s.e;
  add_memory(op.forward, "norm", kNormForward * tensor);
  if (runs_backward(s)) add_memory(op.backward, "norm", kNormBackward * tensor, Pass::dgrad);
  if (s.eager_elementwise && s.norm == NormKind::rmsnorm) {
    keep(op, s, "norm_in_fp32", tensor_bytes(rows, double(width), kFp32Bytes));
    keep(op, s, "norm_scaled", tensor_bytes(rows, double(width), s.e));
  } else if (input_held) {
    keep(op, s, "norm_in", tensor_bytes(rows, double(width), s.e));
  }
  keep(op, s, "norm_statistics", tensor_bytes(rows, 1, norm_statistics_width(s)));
  keep_linear_input(op, s, "norm_out", rows, double(width), {}, {}, adapters);
}

void add_output_reduction(Op& op, double columns, const Shapes& s) {
  if (s.tp > 1) add_reduction(op.forward, columns, s);
}

void add_input_gradient_reduction(Op& op, double columns, const Shapes& s) {
  if (s.tp > 1 && runs_backward(s)) add_reduction(op.backward, columns, s);
}

void clear_work(OpList& ops) {
  for (Op& op : ops) {
    op.saved.clear();
    op.transients.clear();
    op.forward = op.backward = {};
  }
}

}  // namespace shardfit::block
