// SPDX-License-Identifier: Apache-2.0
// Computes:   the operations of a tensor-parallel feed-forward part.
// Formula:    fc1 [N, g*f/tp] and activation [N, f/tp] are kept (g = 2 gated, 1 not); the activation is a fused kernel that
//             keeps its input only, and its output is kept as fc2's input; backward holds the gradient of fc1's output and
//             one gradient of the residual stream at once. Torch's tools recompute by operation: half of a gated fc1 stays.
// Source:     Megatron-LM core/transformer/mlp.py, core/fusions/fused_bias_{swiglu,gelu}.py; the backward transient was
//             measured on first pipeline stages of Llama-70B and 405B (SimuMax B200 runs: +453 and +898 MiB, 448 and 896
//             here); torchtitan distributed/activation_checkpoint.py (SelectiveAC).
// Valid when: tp divides the width.
// Ignores:    squared ReLU without a fused kernel in dense layers (one more tensor), bias gradients.
// Checked by: tests/block/dense_mlp_test.cpp.
#include "block/ffn.hpp"

#include "block/linear.hpp"

namespace shardfit::block {
namespace {

// Calls beside the linears' (kind: counted in Megatron-LM core/transformer/mlp.py, core/fusions/fused_bias_swiglu.py).
constexpr double kModuleCalls = 1, kActivationForwardCalls = 2, kActivationBackwardCalls = 1;

Op start(const char* name, const Ffn& f) {
  Op op;
  op.name = name;
  op.view = f.view;
  op.recomputed_by = f.recomputed_by;
  op.scope = f.scope;
  return op;
}

Op fc1_op(const Ffn& f, const Shapes& s, std::int64_t out) {
  Op op = start(f.fc1, f);
  add_host(op.forward, kModuleCalls);
  Linear linear;
  linear.name = f.fc1;
  linear.group = f.group;
  linear.tokens = double(s.tokens);
  linear.out = out;
  linear.in = s.hidden;
  linear.bias = f.bias;
  linear.adapter = LinearModule::linear_fc1;
  add_linear(op, linear, s);
  add_column_traffic(op, of_module(s, linear.adapter), double(s.hidden));
  return op;
}

Op activation_op(const Ffn& f, const Shapes& s, std::int64_t width) {
  Op op = start(f.activation, f);
  add_host(op.forward, kActivationForwardCalls);
  const int inputs = f.gated ? 2 : 1;
  const double rows = double(s.tokens), elements = rows * double(width);
  add_memory(op.forward, f.activation, activation_forward_bytes(inputs, s.e) * elements);
  // Of queries, keys, values, output, gate, up and down, recompute by operation keeps every second from the first on: the gate
  // stays. (So does the down projection's output, in the place of the second norm's input, which is as wide.)
  const bool gate_stays = s.recompute_by_operation && f.view == View::dense_mlp;
  const double dropped = double(width) * (gate_stays ? inputs - 1 : inputs);
  if (gate_stays) keep(op, s, "gate_out", tensor_bytes(rows, double(width), s.e));
  keep(op, s, "fc1_out", tensor_bytes(rows, dropped, s.e), f.recomputed_by);
  if (s.eager_elementwise && f.gated)  // the product's other factor, which a fused kernel makes again
    keep(op, s, "activated_gate", tensor_bytes(rows, double(width), s.e), f.recomputed_by);
  if (f.written_gate && !s.eager_elementwise)
    keep(op, s, "gate_factors", tensor_bytes(rows, 2 * double(width), s.e), f.recomputed_by);
  if (!runs_backward(s)) return op;
  add_host(op.backward, kActivationBackwardCalls);
  add_memory(op.backward, f.activation, activation_backward_bytes(inputs, s.e) * elements, Pass::dgrad);
  const Bytes gradients = tensor_bytes(rows, double(width) * inputs, s.e) +
                          tensor_bytes(double(s.stream_tokens), double(s.hidden), s.e);
  op.transients.push_back({"fc1_and_stream_gradient", gradients, Moment::backward, {}});
  return op;
}

Op fc2_op(const Ffn& f, const Shapes& s, std::int64_t width) {
  Op op = start(f.fc2, f);
  Shapes inner = s;  // the activation's gradient is needed wherever fc1 or anything before it trains
  inner.needs_input_grad = runs_backward(s);
  Linear linear;
  linear.name = f.fc2;
  linear.group = f.group;
  linear.tokens = double(s.tokens);
  linear.out = s.hidden;
  linear.in = width;
  linear.bias = f.bias;
  linear.row_parallel = true;
  linear.adapter = LinearModule::linear_fc2;
  add_linear(op, linear, inner);
  keep_linear_input(op, s, "activation_out", double(s.tokens), double(width), f.recomputed_by, {}, {LinearModule::linear_fc2});
  add_row_traffic(op, of_module(s, linear.adapter), double(s.hidden));
  return op;
}

}  // namespace

void append_ffn(const Ffn& f, const Shapes& s, OpList& ops) {
  const std::int64_t width = f.intermediate / s.tp;
  ops.push_back(fc1_op(f, s, (f.gated ? 2 : 1) * width));
  ops.push_back(activation_op(f, s, width));
  ops.push_back(fc2_op(f, s, width));
}

}  // namespace shardfit::block
