// SPDX-License-Identifier: Apache-2.0
// Computes:   multi-head latent attention between the input norm and the residual add.
// Formula:    q [ql, h] and kv [kvl + rope, h] down-projections on every rank; up-projections [n*(nope + rope)/tp, ql] and
//             [n*(nope + v)/tp, kvl]; output [h, n*v/tp]. Kept: Ns*(ql + kvl + rope) compressed and Ns*(ql + kvl) as the
//             inputs of the up-projections; N*n/tp*(2*(nope + rope) + v) of q, k, v; the result.
// Source:     Megatron-LM core/transformer/multi_latent_attention.py; kept tensors checked on Megatron-LM's golden runs and
//             on SimuMax's of DeepSeek models; host shares as in gqa.cpp.
// Valid when: tp divides n. Without latent norms the compressed tensors are kept twice all the same (measured).
// Ignores:    the gathered rotary key, N*rope, that a recomputed up-projection keeps under sequence parallelism; time of
//             the latent norms; fused down-projections; padding of v in packed rows.
// Checked by: tests/block/mla_test.cpp.
#include "block/blocks.hpp"
#include "block/core_attention.hpp"
#include "block/linear.hpp"

namespace shardfit::block {
namespace {

/// Bytes of one bf16 element read and written.
constexpr double kReadAndWrite = 2;  ///< tensors

// Calls and launches beside the lists' (kind: counted in multi_latent_attention.py).
constexpr double kModuleCalls = 2;                           ///< layer and attention module
constexpr double kSplitCalls = 1, kSplitLaunches = 2;        ///< latent, rotary key: copies; concatenation backward
constexpr double kRotationCalls = 2, kRotationLaunches = 1;  ///< queries apart from keys and values
constexpr double kLatentNormLaunches = 1;                    ///< each; backward two, with a hook

struct Widths {
  std::int64_t heads, query_head, query, kv_up, value;
  std::int64_t q_rank, kv_rank, rope;
};

Widths widths_of(const MlaSpec& m, const Shapes& s) {
  Widths w{};
  w.heads = m.num_attention_heads / s.tp;
  w.query_head = m.qk_nope_head_dim + m.qk_rope_head_dim;
  w.query = w.heads * w.query_head;
  w.kv_up = w.heads * (m.qk_nope_head_dim + m.v_head_dim);
  w.value = w.heads * m.v_head_dim;
  w.q_rank = m.q_lora_rank.value_or(0);
  w.kv_rank = m.kv_lora_rank;
  w.rope = m.qk_rope_head_dim;
  return w;
}

/// Bytes that a token's rotation moves each way. Queries turn in place, their rotary part alone; keys and values are
/// written anew from the up-projection's output, each key with a copy of the token's one rotary key. Source:
/// Megatron-LM core/fusions/fused_mla_yarn_rope_apply.py (rotary fusion on, as every tuned recipe has it).
double rotation_bytes(const MlaSpec& m, const Widths& w, const Shapes& s) {
  const double heads = double(w.heads), rope = double(w.rope);
  const double copied = double(m.qk_nope_head_dim + m.v_head_dim);
  return heads * s.e * (kReadAndWrite * (rope + copied) + kReadAndWrite / 2 * rope);
}

Linear linear(LinearModule target, std::int64_t tokens, std::int64_t out, std::int64_t in, Split split) {
  Linear l = linear(name_of(target).data(), tokens, out, in, split);
  l.adapter = target;
  return l;
}

Op down_op(const Widths& w, const Shapes& s) {
  Op op = attention_part("linear_down_proj");
  const bool compressed_query = w.q_rank > 0;
  const std::int64_t rows = s.stream_tokens;
  if (compressed_query)
    add_linear(op, linear(LinearModule::linear_q_down_proj, rows, w.q_rank, s.hidden, Split::replicated), s);
  Linear kv = linear(LinearModule::linear_kv_down_proj, rows, w.kv_rank + w.rope, s.hidden, Split::replicated);
  kv.input_already_cast = compressed_query;
  add_linear(op, kv, s);
  keep(op, s, "compressed", tensor_bytes(double(rows), double(w.q_rank + w.kv_rank + w.rope), s.e), {},
       OffloadModule::qkv_linear);
  add_host(op.forward, kModuleCalls + kSplitCalls, kSplitLaunches);
  add_host(op.backward, kSplitCalls, kSplitLaunches);
  return op;
}

/// Every rank needs the rotary key of all its tokens: gathered forward, its gradient scattered backward.
void add_rotary_key_traffic(Op& op, const Widths& w, const Shapes& s) {
  if (s.tp == 1 || !s.sequence_parallel) return;
  Traffic t;
  t.name = "rotary_key";
  t.bytes = double(s.tokens) * double(w.rope) * s.e;
  op.forward.traffic.push_back(t);
  t.kind = CollectiveKind::reduce_scatter;
  op.backward.traffic.push_back(t);
}

void add_latent(Op& op, const MlaSpec& m, const char* norm, const char* kept, std::int64_t rank, LinearModule reader,
                const Shapes& s) {
  const EnumSet<RecomputeModule> rerun{RecomputeModule::mla_up_proj};
  const double rows = double(s.stream_tokens);
  if (m.latent_norms) {
    add_norm_weights(op, norm, rank, s.norm, s);
    add_host(op.forward, 0, kLatentNormLaunches);
    add_host(op.backward, 1, 2 * kLatentNormLaunches);
    keep(op, s, "latent_norm_statistics", tensor_bytes(rows, 1, norm_statistics_width(s)), rerun);
  }
  keep_linear_input(op, s, kept, rows, double(rank), rerun, OffloadModule::qkv_linear, {reader});
  add_column_traffic(op, of_module(s, reader), double(rank));
}

Op up_op(const MlaSpec& m, const Widths& w, const Shapes& s) {
  Op op = attention_part("linear_up_proj");
  op.recomputed_by = {RecomputeModule::mla_up_proj};
  if (w.q_rank > 0) {
    add_linear(op, linear(LinearModule::linear_q_up_proj, s.tokens, w.query, w.q_rank, Split::tensor), s);
    add_latent(op, m, "q_norm", "q_normed", w.q_rank, LinearModule::linear_q_up_proj, s);
  } else {
    add_linear(op, linear(LinearModule::linear_q_proj, s.tokens, w.query, s.hidden, Split::tensor), s);
    add_column_traffic(op, of_module(s, LinearModule::linear_q_proj), double(s.hidden));
  }
  add_linear(op, linear(LinearModule::linear_kv_up_proj, s.tokens, w.kv_up, w.kv_rank, Split::tensor), s);
  add_latent(op, m, "kv_norm", "kv_normed", w.kv_rank, LinearModule::linear_kv_up_proj, s);
  add_rotary_key_traffic(op, w, s);
  const double n = double(s.tokens);
  add_memory(op.forward, op.name, n * rotation_bytes(m, w, s));
  add_memory(op.backward, op.name, n * rotation_bytes(m, w, s), Pass::dgrad);
  op.transients.push_back({"up_projected", tensor_bytes(n, double(w.query + w.kv_up), s.e), Moment::forward});
  add_host(op.forward, kRotationCalls, kRotationLaunches);
  add_host(op.backward, kRotationCalls, kRotationLaunches);
  return op;
}

CoreAttention core_of(const MlaSpec& m, const Widths& w, const Shapes& s) {
  CoreAttention core;
  core.heads = double(w.heads);
  core.query = double(w.query);
  core.key_value = double(w.query + w.value);
  core.context = double(w.value);
  core.flops = attention_flops(core.heads, double(w.query_head), m.v_head_dim, visible_keys(s.sequence, {}), s);
  core.effective_sequence = effective_sequence(s.sequence, {});
  core.inputs_dropped_by = {RecomputeModule::mla_up_proj};
  return core;
}

Op proj_op(const MlaSpec& m, const Widths& w, const Shapes& s) {
  Op op = attention_part("linear_proj");
  Linear l = linear(LinearModule::linear_proj, s.tokens, s.hidden, w.value, Split::tensor);
  l.bias = m.o_bias;
  l.row_parallel = true;
  add_linear(op, l, s);
  add_row_traffic(op, of_module(s, l.adapter), double(s.hidden));
  keep_delayed_copy(op, s, double(s.tokens), double(w.value));
  return op;
}

}  // namespace

void append_mla(const MlaSpec& m, const Shapes& s, OpList& ops) {
  if (m.indexer) return append_sparse_mla(m, s, ops);
  const Widths w = widths_of(m, s);
  ops.push_back(down_op(w, s));
  ops.push_back(up_op(m, w, s));
  ops.push_back(core_attention_op(core_of(m, w, s), s));
  ops.push_back(proj_op(m, w, s));
}

}  // namespace shardfit::block
