// SPDX-License-Identifier: Apache-2.0
// Computes:   a Mamba2 mixer between the input norm and the residual add.
// Formula:    d = heads*head_dim, G = groups*state, all over tp: in-projection [2d + 2G + heads, h], convolution over d +
//             2G channels, out-projection [h, d]. Kept: z, x, B, C, dt N*(2d + 2G + heads)*e; scan result, norm's input and
//             norm's output N*d*e each. FLOP N*(2Q*G + 2Q*d + 6*d*state), Q the chunk.
// Source:     Megatron-LM core/ssm/mamba_mixer.py and the memory-efficient SSD scan that it calls; host shares as in
//             gqa.cpp.
// Valid when: tp divides heads and groups.
// Ignores:    convolution FLOP; the projection's own output beside its contiguous copy for an instant at b > 1.
// Checked by: tests/block/mamba2_test.cpp.
#include "block/blocks.hpp"
#include "block/linear.hpp"
#include "block/recurrent.hpp"

namespace shardfit::block {
namespace {

constexpr double kState = 6;       ///< FLOP a token, channel and state element: decay, update, read
constexpr double kStateBytes = 4;  ///< chunk states in backward, fp32

// Calls and launches beside the lists' (kind: counted in Megatron-LM core/ssm/mamba_mixer.py and mamba_ssm
// ops/triton/ssd_combined.py). The scan: cumulative sum, chunk states, their passing, products, output; backward makes the
// first four again before six of its own and two reductions.
constexpr double kModuleCalls = 3;  ///< layer, mixer, rearrangement for context parallelism
constexpr double kScanLaunchesForward = 5, kScanLaunchesBackward = 12;
constexpr double kScanCalls = 2, kScanHooks = 5;     ///< wrapper and function; conv weight and bias, A, D, dt bias
constexpr double kNormCalls = 1, kNormBackward = 2;  ///< backward with its hook

/// Widths a token on this rank.
struct Widths {
  std::int64_t inner, groups, heads;
  std::int64_t conv() const { return inner + 2 * groups; }
  std::int64_t projected() const { return 2 * inner + 2 * groups + heads; }
};

Widths widths_of(const Mamba2Spec& m, const Shapes& s) {
  return {std::int64_t(m.num_heads) * m.head_dim / s.tp, std::int64_t(m.n_groups) * m.state_size / s.tp, m.num_heads / s.tp};
}

Op part(const char* name) { return part_op(name, View::mamba, GraphScope::mamba); }

Op in_op(const Mamba2Spec& m, const Widths& w, const Shapes& s) {
  Op op = part("in_proj");
  Linear l;
  l.name = op.name;
  l.group = ParamGroup::mamba;
  l.tokens = double(s.tokens);
  l.out = w.projected();
  l.in = s.hidden;
  l.bias = m.proj_bias;
  l.adapter = LinearModule::in_proj;
  add_linear(op, l, s);
  add_column_traffic(op, of_module(s, l.adapter), double(s.hidden));
  add_sequence_exchange(op, "projected_exchange", double(w.projected()), s);
  keep(op, s, "zxBCdt", tensor_bytes(double(s.tokens), double(w.projected()), s.e));
  op.transients.push_back(
      {"projected_gradient", tensor_bytes(double(s.tokens), double(w.projected()), s.e), Moment::backward, {}});
  add_host(op.forward, kModuleCalls);
  add_host(op.backward, 1);
  return op;
}

void add_scan_weights(Op& op, const Mamba2Spec& m, const Widths& w, const Shapes& s) {
  const ParamGroup group = ParamGroup::mamba;
  add_split_weight(op, "conv1d", group, w.conv() * m.conv_kernel, s);
  if (m.conv_bias) add_split_weight(op, "conv1d_bias", group, w.conv(), s);
  add_split_weight(op, "dt_bias", group, w.heads, s);
  add_split_weight(op, "A_log", group, w.heads, s, true);
  add_split_weight(op, "D", group, w.heads, s, true);
}

Op scan_op(const Mamba2Spec& m, const Widths& w, const Shapes& s) {
  Op op = part("ssd_scan");
  add_scan_weights(op, m, w, s);
  const double n = double(s.tokens), inner = double(w.inner), groups = double(w.groups), q = m.chunk_size;
  keep(op, s, "scan_out", tensor_bytes(n, inner, s.e));
  add_memory(op.forward, op.name, n * (kConvForward * double(w.conv()) + kScanFeedForward * inner));
  add_memory(op.backward, op.name, n * (kConvBackward * double(w.conv()) + kScanFeedBackward * inner), Pass::dgrad);
  add_scan(op, n * (2 * q * groups + 2 * q * inner + kState * inner * m.state_size), s);
  // Backward makes the convolution's output and the chunk states again.
  const Bytes states = tensor_bytes(n / q, inner * m.state_size, kStateBytes);
  op.transients.push_back({"chunk_states", states, Moment::forward, {}});
  op.transients.push_back({"chunk_states", states + tensor_bytes(n, double(w.conv()), s.e), Moment::backward, {}});
  add_host(op.forward, kScanCalls, kScanLaunchesForward - 1);
  add_host(op.backward, kScanCalls + kScanHooks, kScanLaunchesBackward - 1);
  return op;
}

Op out_op(const Mamba2Spec& m, const Widths& w, const Shapes& s) {
  Op op = part("out_proj");
  const double n = double(s.tokens), inner = double(w.inner);
  add_norm_weights(op, "gated_norm", w.inner, NormKind::rmsnorm, s, Split::tensor);
  keep(op, s, "norm_in", tensor_bytes(n, inner, s.e));
  keep_linear_input(op, s, "out_proj_in", n, inner, {}, {}, {LinearModule::out_proj});
  add_memory(op.forward, "gated_norm", kGatedNormForward * n * inner);
  add_memory(op.backward, "gated_norm", kGatedNormBackward * n * inner, Pass::dgrad);
  Linear l;
  l.name = op.name;
  l.group = ParamGroup::mamba;
  l.tokens = n;
  l.out = s.hidden;
  l.in = w.inner;
  l.bias = m.proj_bias;
  l.row_parallel = true;
  l.adapter = LinearModule::out_proj;
  add_linear(op, l, s);
  add_sequence_exchange(op, "result_exchange", inner, s);
  add_row_traffic(op, of_module(s, l.adapter), double(s.hidden));
  add_host(op.forward, kNormCalls);
  add_host(op.backward, kNormBackward, 1);
  return op;
}

}  // namespace

void append_mamba2(const Mamba2Spec& m, const Shapes& s, OpList& ops) {
  const Widths w = widths_of(m, s);
  ops.push_back(in_op(m, w, s));
  ops.push_back(scan_op(m, w, s));
  ops.push_back(out_op(m, w, s));
}

}  // namespace shardfit::block
