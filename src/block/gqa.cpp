// SPDX-License-Identifier: Apache-2.0
// Computes:   grouped-query attention between the input norm and the residual add.
// Formula:    qkv weight [(n*(1 + gate) + 2g)*d/tp, h], output [h, n*d/tp]. Kept: q, k, v after rotation N*(n + 2*max(g,
//             tp))*d/tp*e; with q/k norms their inputs N*(n + max(g, tp))*d/tp*e and statistics; the result; with an output
//             gate the gate and the gated result.
// Source:     Megatron-LM core/transformer/attention.py:SelfAttention; kept tensors checked on Megatron-LM's golden runs.
// Valid when: tp divides n, and g or g divides tp.
// Ignores:    sines and cosines of the rotation, the gather's copy where g < tp.
// Checked by: tests/block/gqa_test.cpp.
#include <algorithm>

#include "block/blocks.hpp"
#include "block/core_attention.hpp"
#include "block/linear.hpp"

namespace shardfit::block {
namespace {

// Bytes moved for each element (kind: counted).
constexpr double kRotationBytes = 4;  ///< read and write, both ways
constexpr double kFp32Bytes = 4;
constexpr double kNormForward = 4, kNormBackward = 6;   ///< of q/k norms: input and gradient in, gradient out
constexpr double kGateForward = 6, kGateBackward = 10;  ///< result, gate in, product out; all three in, two out

// Calls and launches beside the lists' (kind: counted in attention.py and models/common/embeddings/rope_utils.py).
constexpr double kModuleCalls = 2, kSplitCalls = 1;          ///< layer and attention module; SplitAlongDim
constexpr double kRotationCalls = 2, kRotationLaunches = 2;  ///< query and key apart; copies of the split
constexpr double kQkNormCalls = 2, kQkNormLaunches = 2;      ///< backward twice as many, with a hook each

/// Widths a token on this rank. A key-value head is never split: where there are fewer than tp, ranks hold copies.
struct Widths {
  std::int64_t query, key, gate, qkv_rows;
  bool gathers;  ///< the projection's output is gathered to find whole heads
};

Widths widths_of(const GqaSpec& g, const Shapes& s) {
  const std::int64_t d = g.head_dim, heads = g.num_attention_heads, groups = g.num_key_value_heads;
  Widths w{};
  w.query = heads * d / s.tp;
  w.key = std::max(groups * d / s.tp, d);
  w.gate = g.output_gate ? w.query : 0;
  w.qkv_rows = (heads * (g.output_gate ? 2 : 1) + 2 * groups) * d / s.tp;
  w.gathers = groups < s.tp;
  return w;
}

/// Fewer key-value heads than ranks: slices of the projection are no whole heads, so ranks gather it and take theirs.
void add_head_gather(Op& op, const Widths& w, const Shapes& s) {
  const double bytes = double(s.tokens) * double(w.qkv_rows) * s.tp * s.e;
  Traffic t;
  t.name = "mixed_qkv";
  t.bytes = bytes;
  op.forward.traffic.push_back(t);
  t.kind = CollectiveKind::reduce_scatter;
  op.backward.traffic.push_back(t);
  op.transients.push_back({"gathered_qkv", Bytes(std::int64_t(bytes)), Moment::forward});
}

Op qkv_op(const GqaSpec& g, const Widths& w, const Shapes& s) {
  Op op = attention_part("linear_qkv");
  Linear l;
  l.name = op.name;
  l.tokens = double(s.tokens);
  l.out = w.qkv_rows;
  l.in = s.hidden;
  l.bias = g.qkv_bias;
  l.adapter = LinearModule::linear_qkv;
  add_linear(op, l, s);
  add_column_traffic(op, of_module(s, l.adapter), double(s.hidden));
  if (w.gathers) add_head_gather(op, w, s);
  add_host(op.forward, kModuleCalls);
  return op;
}

void add_qk_norms(Op& op, const GqaSpec& g, const Widths& w, const Shapes& s) {
  const bool per_head = g.qk_norm == QkNorm::per_head;
  // Norms over a whole layer's heads are split with the heads.
  const Split split = per_head ? Split::replicated : Split::tensor;
  add_norm_weights(op, "q_norm", per_head ? g.head_dim : w.query, s.norm, s, split);
  add_norm_weights(op, "k_norm", per_head ? g.head_dim : w.key, s.norm, s, split);
  const double n = double(s.tokens), normed = double(w.query + w.key);
  keep(op, s, "qk_norm_in", tensor_bytes(n, normed, s.e), {}, OffloadModule::qkv_linear);
  keep(op, s, "qk_norm_statistics", tensor_bytes(n, per_head ? normed / g.head_dim : 2, norm_statistics_width(s)));
}

/// Bytes that splitting the projection's output moves forward, and joining the gradients backward. Queries of a group
/// lie between its key and value, so heads in one row need a copy; fused attention wants its values in one piece too; the
/// gradients of all three are concatenated. Source: Megatron-LM core/transformer/attention.py:get_query_key_value_tensors,
/// Transformer Engine SplitAlongDim.
double split_bytes(const GqaSpec& g, const Widths& w, bool forward, const Shapes& s) {
  const bool one_group = g.num_key_value_heads <= s.tp;  // its queries lie side by side as they are
  const double query = forward && one_group ? 0 : double(w.query);
  return kRotationBytes * double(s.tokens) * (query + double(w.key) * (forward ? 1 : 2));
}

/// Values in fp32 squared, averaged and divided: the fp32 copy serves both gradients.
void add_value_norm(Op& op, const Widths& w, const Shapes& s) {
  constexpr double kForwardBytes = 30, kBackwardBytes = 50, kLaunches = 6;  // counted: cast, square, mean, root, quotient, cast
  const double elements = double(s.tokens) * double(w.key);
  keep(op, s, "value_in_fp32", tensor_bytes(elements, 1, kFp32Bytes), {}, OffloadModule::qkv_linear);
  add_memory(op.forward, "value_norm", kForwardBytes * elements);
  add_memory(op.backward, "value_norm", kBackwardBytes * elements, Pass::dgrad);
  add_host(op.forward, 0, kLaunches);
  add_host(op.backward, 0, 2 * kLaunches);
}

Op rotation_op(const GqaSpec& g, const Widths& w, const Shapes& s) {
  Op op = attention_part("qk_norm_rope");
  const bool norms = g.qk_norm != QkNorm::none;
  if (norms) add_qk_norms(op, g, w, s);
  if (g.value_norm) add_value_norm(op, w, s);
  const double elements = double(s.tokens) * double(w.query + w.key);
  add_memory(op.forward, op.name, elements * (kRotationBytes + (norms ? kNormForward : 0)) + split_bytes(g, w, true, s));
  add_memory(op.backward, op.name, elements * (kRotationBytes + (norms ? kNormBackward : 0)) + split_bytes(g, w, false, s),
             Pass::dgrad);
  const double normed = norms ? 1 : 0;
  add_host(op.forward, kSplitCalls + kRotationCalls + normed * kQkNormCalls, kRotationLaunches + normed * kQkNormLaunches);
  add_host(op.backward, kSplitCalls + kRotationCalls + normed * 2 * kQkNormCalls,
           kRotationLaunches + normed * 2 * kQkNormLaunches);
  return op;
}

CoreAttention core_of(const GqaSpec& g, const Widths& w, const Shapes& s) {
  CoreAttention core;
  core.heads = double(g.num_attention_heads) / s.tp;
  core.query = core.context = double(w.query);
  core.key_value = 2 * double(w.key);
  core.head_dim = g.head_dim;
  core.flops = attention_flops(core.heads, g.head_dim, g.head_dim, visible_keys(s.sequence, g.sliding_window), s);
  core.effective_sequence = effective_sequence(s.sequence, g.sliding_window);
  return core;
}

Op gate_op(const Widths& w, const Shapes& s) {
  Op op = attention_part("output_gate");
  const double n = double(s.tokens), width = double(w.gate);
  keep(op, s, "gate", tensor_bytes(n, width, s.e));
  keep_reference_input(op, s, "gated_context", n, width, {LinearModule::linear_proj});
  add_memory(op.forward, op.name, kGateForward * n * width);
  add_memory(op.backward, op.name, kGateBackward * n * width, Pass::dgrad);
  return op;
}

Op proj_op(const GqaSpec& g, const Widths& w, const Shapes& s) {
  Op op = attention_part("linear_proj");
  Linear l;
  l.name = op.name;
  l.tokens = double(s.tokens);
  l.out = s.hidden;
  l.in = w.query;
  l.bias = g.o_bias;
  l.row_parallel = true;
  l.adapter = LinearModule::linear_proj;
  add_linear(op, l, s);
  add_row_traffic(op, of_module(s, l.adapter), double(s.hidden));
  keep_delayed_copy(op, s, double(s.tokens), double(w.query));
  return op;
}

}  // namespace

void append_gqa(const GqaSpec& g, const Shapes& s, OpList& ops) {
  const Widths w = widths_of(g, s);
  ops.push_back(qkv_op(g, w, s));
  ops.push_back(rotation_op(g, w, s));
  ops.push_back(core_attention_op(core_of(g, w, s), s));
  if (g.attention_sinks) add_sinks(ops.back(), g.num_attention_heads / s.tp, s);
  if (g.output_gate) ops.push_back(gate_op(w, s));
  ops.push_back(proj_op(g, w, s));
}

}  // namespace shardfit::block
