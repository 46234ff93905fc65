// SPDX-License-Identifier: Apache-2.0
// Computes:   a gated DeltaNet mixer between the input norm and the residual add.
// Formula:    K = key heads*dk, V = value heads*dv, H = value heads, all over tp: in-projection [2K + 2V + 2H, h],
//             convolution over 2K + V channels, out-projection [h, V]. Kept a token: convolution in and out 2(2K + V) each,
//             q and k repeated to the value heads 2*2*H*dk, v 2V, chunk matrices 64*2*H, decay 4H, beta 2H, result 2V, gate
//             2V, normed 2V, out-projection's input 2V. FLOP N*H*(4*64*dk + 4*64*dv + 6*dk*dv + 2*64^2).
// Source:     Megatron-LM core/ssm/gated_delta_net; flash-linear-attention's chunked kernel; host shares as in gqa.cpp.
// Valid when: tp*cp divides key and value heads.
// Ignores:    statistics of the q/k normalisation, convolution FLOP.
// Checked by: tests/block/gated_delta_net_test.cpp.
#include "block/blocks.hpp"
#include "block/linear.hpp"
#include "block/recurrent.hpp"

namespace shardfit::block {
namespace {

constexpr double kChunk = 64;      ///< tokens a chunk of the kernel
constexpr double kDecayBytes = 4;  ///< fp32
// FLOP of one token and head: scores and their solve against keys and against values, state update and read.
constexpr double kChunkKey = 4, kChunkValue = 4, kState = 6;

// Bytes of an element of the rule's output (kind: counted in Megatron-LM core/ssm/gated_delta_net/common.py): norm, product
// with the gate, transposed copy; backward the same with the gate's gradient and three inputs.
constexpr double kNormForward = 4 + 6 + 4, kNormBackward = 6 + 10 + 4;

// Calls and launches beside the lists' (kind: counted in Megatron-LM core/ssm/gated_delta_net/gdn.py and
// flash-linear-attention ops/gated_delta_rule/chunk.py). The rule: cumulative sum, scores, their solve, products with keys
// and values, states, output; backward makes the products and states again before five of its own and a reverse sum.
constexpr double kModuleCalls = 4;                   ///< layer, mixer, rearrangement, split
constexpr double kFeedCalls = 9, kFeedLaunches = 9;  ///< convolution, q and k normed and repeated, decay and beta
constexpr double kFeedHooks = 3;                     ///< conv weight, A, dt bias
constexpr double kRuleCalls = 2, kRuleLaunchesForward = 7, kRuleLaunchesBackward = 12;
constexpr double kNormCalls = 2, kNormLaunches = 2;  ///< norm, then product with the gate; backward has a hook more

/// Widths a token on this rank.
struct Widths {
  std::int64_t key, value, heads, key_dim, value_dim;
  std::int64_t conv() const { return 2 * key + value; }
  std::int64_t projected() const { return 2 * key + 2 * value + 2 * heads; }
};

Widths widths_of(const GatedDeltaNetSpec& g, const Shapes& s) {
  return {std::int64_t(g.num_key_heads) * g.key_head_dim / s.tp, std::int64_t(g.num_value_heads) * g.value_head_dim / s.tp,
          g.num_value_heads / s.tp, g.key_head_dim, g.value_head_dim};
}

Op part(const char* name) { return part_op(name, View::linear_attention, GraphScope::attn); }

Op in_op(const Widths& w, const Shapes& s) {
  Op op = part("in_proj");
  Linear l;
  l.name = op.name;
  l.group = ParamGroup::linear_attention;
  l.tokens = double(s.tokens);
  l.out = w.projected();
  l.in = s.hidden;
  l.adapter = LinearModule::in_proj;
  add_linear(op, l, s);
  add_column_traffic(op, of_module(s, l.adapter), double(s.hidden));
  add_sequence_exchange(op, "projected_exchange", double(w.projected()), s);
  op.transients.push_back(
      {"projected_gradient", tensor_bytes(double(s.tokens), double(w.projected()), s.e), Moment::backward, {}});
  add_host(op.forward, kModuleCalls);
  add_host(op.backward, 2);
  return op;
}

void keep_scan_tensors(Op& op, const Widths& w, const Shapes& s) {
  const double n = double(s.tokens), heads = double(w.heads), value = double(w.value);
  keep(op, s, "conv_in", tensor_bytes(n, double(w.conv()), s.e));
  keep(op, s, "conv_out", tensor_bytes(n, double(w.conv()), s.e));
  keep(op, s, "query_key_repeated", tensor_bytes(n, 2 * heads * double(w.key_dim), s.e));
  keep(op, s, "value", tensor_bytes(n, value, s.e));
  keep(op, s, "chunk_matrices", tensor_bytes(n, heads * kChunk, s.e));
  keep(op, s, "decay", tensor_bytes(n, heads, kDecayBytes));
  keep(op, s, "beta", tensor_bytes(n, heads, s.e));
  keep(op, s, "scan_out", tensor_bytes(n, value, s.e));
}

Op scan_op(const GatedDeltaNetSpec& g, const Widths& w, const Shapes& s) {
  Op op = part("delta_rule");
  const ParamGroup group = ParamGroup::linear_attention;
  add_split_weight(op, "conv1d", group, w.conv() * g.conv_kernel, s);
  if (g.conv_bias) add_split_weight(op, "conv1d_bias", group, w.conv(), s);
  add_split_weight(op, "A_log", group, w.heads, s);
  add_split_weight(op, "dt_bias", group, w.heads, s);
  keep_scan_tensors(op, w, s);
  const double n = double(s.tokens), heads = double(w.heads);
  const double dk = double(w.key_dim), dv = double(w.value_dim);
  add_memory(op.forward, op.name, n * (kConvForward * double(w.conv()) + kScanFeedForward * double(w.value)));
  add_memory(op.backward, op.name, n * (kConvBackward * double(w.conv()) + kScanFeedBackward * double(w.value)), Pass::dgrad);
  const double chunk = kChunk * (kChunkKey * dk + kChunkValue * dv + 2 * kChunk);
  add_scan(op, n * heads * (chunk + kState * dk * dv), s);
  // One state a chunk and head; backward holds them and their gradients.
  const Bytes states = tensor_bytes(n / kChunk, heads * dk * dv, s.e);
  op.transients.push_back({"chunk_states", states, Moment::forward, {}});
  op.transients.push_back({"chunk_states", 2 * states, Moment::backward, {}});
  add_host(op.forward, kFeedCalls + kRuleCalls, kFeedLaunches + kRuleLaunchesForward - 2);
  add_host(op.backward, kFeedCalls + kFeedHooks + kRuleCalls, 2 * kFeedLaunches + kRuleLaunchesBackward - 2);
  return op;
}

Op norm_op_gated(const Widths& w, const Shapes& s) {
  Op op = part("gated_norm");
  const EnumSet<RecomputeModule> rerun{RecomputeModule::gdn_norm_out};
  op.recomputed_by = rerun;
  add_norm_weights(op, "out_norm", w.value_dim, NormKind::rmsnorm, s);
  const double n = double(s.tokens), value = double(w.value);
  keep(op, s, "gate", tensor_bytes(n, value, s.e));
  keep(op, s, "normed", tensor_bytes(n, value, s.e), rerun);
  keep_linear_input(op, s, "out_proj_in", n, value, rerun, {}, {LinearModule::out_proj});
  add_memory(op.forward, op.name, kNormForward * n * value);
  add_memory(op.backward, op.name, kNormBackward * n * value, Pass::dgrad);
  add_host(op.forward, kNormCalls, kNormLaunches - 1);
  add_host(op.backward, kNormCalls + 1, 2 * kNormLaunches - 1);
  return op;
}

Op out_op(const Widths& w, const Shapes& s) {
  Op op = part("out_proj");
  Linear l;
  l.name = op.name;
  l.group = ParamGroup::linear_attention;
  l.tokens = double(s.tokens);
  l.out = s.hidden;
  l.in = w.value;
  l.row_parallel = true;
  l.adapter = LinearModule::out_proj;
  add_linear(op, l, s);
  add_sequence_exchange(op, "result_exchange", double(w.value), s);
  add_row_traffic(op, of_module(s, l.adapter), double(s.hidden));
  return op;
}

}  // namespace

void append_gated_delta_net(const GatedDeltaNetSpec& g, const Shapes& s, OpList& ops) {
  const Widths w = widths_of(g, s);
  ops.push_back(in_op(w, s));
  ops.push_back(scan_op(g, w, s));
  ops.push_back(norm_op_gated(w, s));
  ops.push_back(out_op(w, s));
}

}  // namespace shardfit::block
