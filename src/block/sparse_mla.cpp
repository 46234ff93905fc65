// SPDX-License-Identifier: Apache-2.0
// Computes:   DeepSeek sparse attention (DSA): latent attention in absorbed form over the top-k keys that a lightning
//             indexer chooses, between the input norm and the residual add.
// Formula:    down-projections as in mla.cpp; q up [n*(nope + rope)/tp, ql], then each head's key half of the up-projection
//             turns nope into kvl, so that all heads read one key of kvl + rope, and its value half turns a head's result
//             of kvl into v. Kept: N*n/tp*(nope + rope) of q, N*n/tp*(kvl + rope) absorbed, s*b*(kvl + rope) keys of all
//             context-parallel ranks, N*n/tp*(kvl + v) results. 2*n/tp*(2*kvl + rope) FLOP a chosen pair. Without kernels
//             (dsa_kernel_backend none) every score exists, 6 B kept.
// Source:     Megatron-LM core/transformer/experimental_attention_variant/{dsa,absorbed_mla}.py, core/models/gpt/
//             experimental_attention_variant_module_specs.py; AutoModel components/models/glm_moe_dsa/layers.py (the same
//             form, no loss).
// Valid when: tp divides n; context-parallel keys are gathered (cp_comm_type all_gather).
// Ignores:    fp8 in the absorbed products, padding of heads to a kernel's tile.
// Checked by: tests/block/sparse_mla_test.cpp.
#include <algorithm>

#include "block/blocks.hpp"
#include "block/core_attention.hpp"
#include "block/linear.hpp"
#include "block/sparse_mla.hpp"

namespace shardfit::block {
namespace {

constexpr double kScoreBytes = 4, kLogSumExp = 4;     ///< fp32
constexpr double kBackwardFlops = 2.5;                ///< of forward, as core_attention.cpp
constexpr double kKeptScore = 6, kScoreTraffic = 32;  ///< unfused, B a pair and head: fp32 and bf16; passes (counted)
constexpr double kCopies = 2;                         ///< unfused, of a score: before and after an operation

// Calls and launches (kind: counted as for multi-latent attention, mla.cpp).
constexpr double kModuleCalls = 2, kNormCalls = 1, kNormLaunches = 1, kRotationCalls = 2, kRotationLaunches = 4;
constexpr double kCoreCalls = 4, kCoreLaunches = 4;

/// Mean keys of a causal query that sees at most `most`: the first ones see fewer.
double mean_keys(double sequence, double most) { return sequence <= most ? sequence / 2 : most - most * most / (2 * sequence); }

Op down_op(const MlaSpec& m, const SparseSizes& z, const Shapes& s) {
  Op op = attention_part("linear_down_proj");
  const std::int64_t rows = s.stream_tokens, q_rank = m.q_lora_rank.value_or(0);
  if (q_rank > 0) {
    Linear q = linear("linear_q_down_proj", rows, q_rank, s.hidden, Split::replicated);
    q.adapter = LinearModule::linear_q_down_proj;
    add_linear(op, q, s);
  }
  Linear kv = linear("linear_kv_down_proj", rows, z.key, s.hidden, Split::replicated);
  kv.adapter = LinearModule::linear_kv_down_proj;
  kv.input_already_cast = q_rank > 0;
  add_linear(op, kv, s);
  keep(op, s, "compressed", tensor_bytes(double(rows), double(q_rank + z.key), s.e), {}, OffloadModule::qkv_linear);
  if (m.latent_norms) {
    if (q_rank > 0) add_norm_weights(op, "q_norm", q_rank, s.norm, s);
    add_norm_weights(op, "kv_norm", m.kv_lora_rank, s.norm, s);
    const double norms = q_rank > 0 ? 2 : 1;
    keep(op, s, "latent_norm_statistics", tensor_bytes(double(rows), norms, norm_statistics_width(s)));
    add_host(op.forward, 0, norms * kNormLaunches);
    add_host(op.backward, norms, 2 * norms * kNormLaunches);
  }
  add_host(op.forward, kModuleCalls);
  return op;
}

/// Queries of a rank's heads, and turned so that they read the latent key itself.
Op up_op(const MlaSpec& m, const SparseSizes& z, const Shapes& s) {
  Op op = attention_part("linear_up_proj");
  const EnumSet<RecomputeModule> rerun{RecomputeModule::mla_up_proj};
  op.recomputed_by = rerun;
  const std::int64_t q_in = m.q_lora_rank.value_or(int(s.hidden));
  const LinearModule reader = m.q_lora_rank ? LinearModule::linear_q_up_proj : LinearModule::linear_q_proj;
  Linear q = linear(name_of(reader).data(), s.tokens, z.query, q_in, Split::tensor);
  q.adapter = reader;
  add_linear(op, q, s);
  // The indexer and this linear read the normed latent; nothing frees it.
  if (m.q_lora_rank)
    keep_linear_input(op, s, "q_normed", double(s.stream_tokens), double(q_in), {}, OffloadModule::qkv_linear, {reader});
  add_column_traffic(op, of_module(s, reader), double(q_in));
  // Both halves of the matrix: keys into queries here, values out of results after attention.
  Linear kv = linear("linear_kv_up_proj", s.tokens, z.heads * (m.qk_nope_head_dim + m.v_head_dim), m.kv_lora_rank,
                     Split::tensor);
  kv.adapter = LinearModule::linear_kv_up_proj;
  add_linear(op, kv, s);
  keep(op, s, "query_up", tensor_bytes(z.rows, double(z.query), s.e), rerun);
  keep(op, s, "absorbed_query", tensor_bytes(z.rows, double(z.absorbed), s.e), rerun, OffloadModule::core_attn);
  const double moved = z.rows * double(z.query + 4 * z.absorbed) *
                       s.e;  // copied by the concatenation, turned by rope (counted)
  add_memory(op.forward, op.name, moved);
  add_memory(op.backward, op.name, moved, Pass::dgrad);
  op.transients.push_back({"absorbed", tensor_bytes(z.rows, double(z.query + z.absorbed), s.e), Moment::forward});
  if (s.tp > 1 && s.sequence_parallel) add_sparse_gather(op, "latent_key", Group::tp, z.rows * double(z.key) * s.e, true);
  add_host(op.forward, kRotationCalls, kRotationLaunches);
  add_host(op.backward, kRotationCalls, kRotationLaunches);
  return op;
}

void keep_unfused(Op& op, const SparseSizes& z, const Shapes& s) {
  const double scores = 2 * z.pairs * double(z.heads);
  keep(op, s, "probabilities", tensor_bytes(scores, 1, kKeptScore), {RecomputeModule::core_attn}, OffloadModule::core_attn);
  op.transients.push_back({"scores", tensor_bytes(scores, 1, kCopies * kScoreBytes), Moment::forward});
  op.transients.push_back({"scores_gradient", tensor_bytes(scores, 1, kCopies * kScoreBytes), Moment::backward});
  add_memory(op.forward, "softmax", kScoreTraffic * scores);
  add_memory(op.backward, "softmax", kScoreTraffic * scores, Pass::dgrad);
}

Op attend_op(const MlaSpec& m, const SparseSizes& z, const Shapes& s) {
  Op op = attention_part("core_attention");
  const EnumSet<RecomputeModule> rerun{RecomputeModule::core_attn};
  op.recomputed_by = rerun;
  const double latent = double(z.heads) * m.kv_lora_rank;
  keep(op, s, "latent_key", tensor_bytes(z.keys, double(z.key), s.e), {}, OffloadModule::core_attn);
  keep(op, s, "latent_context", tensor_bytes(z.rows, latent, s.e), rerun);
  const bool held = needs_linear_input(s, {LinearModule::linear_proj});
  keep(op, s, "context", tensor_bytes(z.rows, double(z.value), s.e), held ? EnumSet<RecomputeModule>{} : rerun,
       OffloadModule::attn_proj);
  const bool kernels = has_sparse_kernels(s);
  if (kernels)
    keep(op, s, "log_sum_exp", tensor_bytes(z.rows, double(z.heads), kLogSumExp), rerun);
  else
    keep_unfused(op, z, s);
  op.transients.push_back(
      {"query_key_value_gradient",
       tensor_bytes(z.rows, double(z.absorbed) + latent, s.e) + tensor_bytes(z.keys, double(z.key), kScoreBytes),
       Moment::backward});
  Kernel k = sparse_kernel(op.name, 2 * (double(z.absorbed) + latent) * (kernels ? z.chosen : 2 * z.pairs), 0, z, s);
  op.forward.kernels.push_back(k);
  k.pass = Pass::dgrad;
  k.flops *= kBackwardFlops;
  op.backward.kernels.push_back(k);
  if (s.cp > 1) add_sparse_gather(op, "kv_gather", Group::cp, z.keys * double(z.key) * s.e, true);
  add_host(op.forward, kCoreCalls, kCoreLaunches);
  add_host(op.backward, kCoreCalls, kCoreLaunches);
  return op;
}

Op proj_op(const MlaSpec& m, const SparseSizes& z, const Shapes& s) {
  Op op = attention_part("linear_proj");
  Linear l = linear("linear_proj", s.tokens, s.hidden, z.value, Split::tensor);
  l.adapter = LinearModule::linear_proj;
  l.bias = m.o_bias;
  l.row_parallel = true;
  add_linear(op, l, s);
  add_row_traffic(op, of_module(s, l.adapter), double(s.hidden));
  keep_delayed_copy(op, s, z.rows, double(z.value));
  return op;
}

}  // namespace

SparseSizes sparse_sizes(const MlaSpec& m, const Shapes& s) {
  SparseSizes z;
  z.heads = m.num_attention_heads / s.tp;
  z.query = z.heads * (m.qk_nope_head_dim + m.qk_rope_head_dim);
  z.key = m.kv_lora_rank + m.qk_rope_head_dim;
  z.absorbed = z.heads * z.key;
  z.value = z.heads * m.v_head_dim;
  z.rows = double(s.tokens);
  z.keys = double(s.sequence) * double(s.micro_batch);
  z.pairs = z.rows * double(s.sequence) / 2;
  z.chosen = z.rows * mean_keys(double(s.sequence), m.indexer->topk);
  return z;
}

void add_sparse_gather(Op& op, const char* name, Group group, double bytes, bool backward) {
  Traffic t;
  t.name = name;
  t.group = group;
  t.bytes = bytes;
  op.forward.traffic.push_back(t);
  if (!backward) return;
  t.kind = CollectiveKind::reduce_scatter;
  op.backward.traffic.push_back(t);
}

Kernel sparse_kernel(const char* name, double flops, int head_dim, const SparseSizes& z, const Shapes& s) {
  Kernel k;
  k.name = name;
  k.kind = KernelKind::attention;
  k.flops = flops;
  k.head_dim = head_dim;
  k.groups = double(z.heads) * double(s.micro_batch);
  k.m = z.rows / double(s.micro_batch);
  k.effective_sequence = effective_sequence(s.sequence, {});
  return k;
}

void append_sparse_mla(const MlaSpec& m, const Shapes& s, OpList& ops) {
  const SparseSizes z = sparse_sizes(m, s);
  ops.push_back(down_op(m, z, s));
  ops.push_back(up_op(m, z, s));
  if (!m.indexer->shared) ops.push_back(sparse_index_op(m, z, s));
  ops.push_back(attend_op(m, z, s));
  ops.push_back(proj_op(m, z, s));
}

}  // namespace shardfit::block
