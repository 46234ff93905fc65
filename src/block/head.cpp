// SPDX-License-Identifier: Apache-2.0
// Computes:   final norm and output projection; the joining of hyper-connection streams before them; in place of the
//             projection a score of a classifier or reward model (seq_cls), nothing for an embedding model. The loss is in
//             loss.cpp.
// Formula:    norm keeps its input and output; the projection is [vocab/tp, h], a score [1, h].
// Source:     Megatron-LM core/models/gpt/gpt_model.py, core/tensor_parallel/layers.py; Hugging Face's
//             ForSequenceClassification.
// Valid when: the vocabulary is padded to a multiple of tp.
// Ignores:    deferred weight gradient of the projection; pooling and loss of models without logits; more than one label.
// Checked by: tests/block/head_test.cpp.
#include "block/blocks.hpp"
#include "block/edge_parts.hpp"
#include "block/linear.hpp"

namespace shardfit::block {
namespace {

constexpr double kNormForwardBytes = 8, kNormBackwardBytes = 12;  ///< moved an element (counted)
constexpr std::int64_t kScoreLabels = 1;                          ///< of a reward model; others have a few

// Calls and launches beside the lists' (kind: counted in Megatron-LM core/models/gpt/gpt_model.py, schedules.py and
// Megatron-Bridge training/gpt_step.py): the batch and its masks, the model.
constexpr double kStepCalls = 5, kStepLaunches = 6;

/// With fp8_output_proj the projection is a linear of Transformer Engine's in mxfp8, its weight in bf16 since it is built
/// outside the context of fp8 parameters; else Megatron's own in bf16. Source: Megatron-LM core/extensions/
/// transformer_engine.py:TELMHeadColumnParallelLinear, core/models/gpt/gpt_model.py.
Precision output_precision(const Shapes& s) { return s.fp8_output_proj ? Precision::mxfp8 : s.precision; }

Op output_op(const LossUse& use, const Shapes& s) {
  Op op;
  op.name = "output_projection";
  op.view = use.view;
  Shapes inner = s;  // whatever trains is below the head
  inner.needs_input_grad = runs_backward(s);
  inner.precision = output_precision(s);
  Linear linear;
  linear.name = "output_projection";
  linear.group = ParamGroup::lm_head;
  linear.tokens = double(s.tokens);
  linear.out = s.vocab / s.tp;
  linear.in = s.hidden;
  linear.quantized = s.fp8_output_proj;
  linear.stored_in_bf16 = true;
  add_linear(op, linear, inner);
  op.weights.front().embedding = true;
  op.weights.front().bf16_linear = true;
  // A head without a weight of its own still multiplies by that shape, and so has its placeholder gradient.
  if (!use.weight_held) op.weights.front().count = 0;
  if (s.chunked_cross_entropy && runs_backward(s)) {
    Kernel again = op.forward.kernels.front();
    again.pass = Pass::dgrad;
    op.backward.kernels.push_back(again);
  }
  add_column_traffic(op, inner, double(s.hidden), s.fp8_output_proj);
  add_host(op.forward, kStepCalls, kStepLaunches);
  return op;
}

/// A few scores a token (one: a reward) in place of logits; their loss is too small to count.
Op score_op(const Shapes& s) {
  Op op;
  op.name = "score";
  op.view = View::head;
  Shapes inner = s;
  inner.needs_input_grad = runs_backward(s);
  Linear linear;
  linear.name = "score";
  linear.group = ParamGroup::lm_head;
  linear.tokens = double(s.tokens);
  linear.out = kScoreLabels;
  linear.in = s.hidden;
  linear.split = Split::replicated;
  linear.quantized = false;
  add_linear(op, linear, inner);
  add_host(op.forward, kStepCalls, kStepLaunches);
  return op;
}

}  // namespace

void add_final_norm(Op& op, const Shapes& s) {
  const double rows = double(s.stream_tokens), width = double(s.hidden), elements = rows * width;
  add_norm_weights(op, "final_norm", s.hidden, s.norm, s);
  add_memory(op.forward, "final_norm", kNormForwardBytes * elements);
  if (runs_backward(s)) add_memory(op.backward, "final_norm", kNormBackwardBytes * elements, Pass::dgrad);
  keep(op, s, "final_norm_in", tensor_bytes(rows, width, s.e));
  keep(op, s, "final_norm_statistics", tensor_bytes(rows, 1, norm_statistics_width(s)));
  // The projection's wgrad reads the output, or its quantised copy; a frozen one needs it no more.
  Shapes reader = s;
  reader.precision = output_precision(s);
  const double kept = s.fp8_output_proj ? linear_input_width(reader) : s.e;
  if (trains_base(s)) keep(op, s, "final_norm_out", tensor_bytes(rows, width, kept));
}

void append_stream_merge(const Shapes& s, View view, OpList& ops) {
  if (s.residual_streams <= 1) return;
  const std::int64_t n = s.residual_streams;
  Op op;
  op.name = "stream_merge";
  op.view = view;
  const auto add = [&](const char* name, std::int64_t rows, std::int64_t cols) {
    Weight w;
    w.name = name;
    w.group = ParamGroup::hyper_connections;
    w.rows = rows;
    w.cols = cols;
    w.trainable = trains_base(s);
    op.weights.push_back(w);
  };
  add("merge.fn", n, n * s.hidden);
  add("merge.base", n, 1);
  add("merge.scale", 1, 1);
  // All streams read twice (weights, then sum), one written.
  const double stream = double(s.stream_tokens) * double(s.hidden) * s.e;
  add_memory(op.forward, "stream_merge", stream * double(2 * n + 1));
  if (runs_backward(s)) add_memory(op.backward, "stream_merge", stream * double(3 * n + 1), Pass::dgrad);
  keep(op, s, "streams", tensor_bytes(double(s.stream_tokens), double(n * s.hidden), s.e));
  ops.push_back(op);
}

void append_output_and_loss(const LossUse& use, const Shapes& s, OpList& ops) {
  ops.push_back(output_op(use, s));
  ops.push_back(loss_op(use, s));
}

OpList head(const TextSpec&, const Shapes& s, bool weight_held) {
  OpList ops;
  append_stream_merge(s, View::head, ops);
  Op norm;
  norm.name = "final_norm";
  norm.view = View::head;
  add_final_norm(norm, s);
  ops.push_back(norm);
  if (s.task_type == TaskType::seq_cls) ops.push_back(score_op(s));
  if (s.task_type != TaskType::causal_lm) return ops;
  LossUse use;
  use.weight_held = weight_held;
  append_output_and_loss(use, s, ops);
  return ops;
}

}  // namespace shardfit::block
