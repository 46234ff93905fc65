// SPDX-License-Identifier: Apache-2.0
// Computes:   attention over a window and over compressed keys, with one shared key-value head, between the input norm and
//             the residual add.
// Formula:    q [ql, h] down and kv [d, h] on every rank, q up [n*d/tp, ql], output in groups [ol, n*d/og] then [h,
//             og*ol/tp]; with a ratio r pooled keys (N/r of them) from two [w*d, h] projections, w = 2 if windows overlap;
//             an indexer scores pooled keys and picks top-k. A query sees window + 64 + min(s/(2r), top-k) keys.
// Source:     DeepSeek-V4's published config and weight shapes; kernels by analogy to MLA (kind: assumed).
// Valid when: tp divides n and og. Indexer and compressor are held whole on every rank (assumed, as sparse MLA does).
// Ignores:    the indexer's own loss, gathers of pooled keys over context-parallel ranks, top-k selection.
// Checked by: tests/block/compressed_mqa_test.cpp.
#include <algorithm>

#include "block/blocks.hpp"
#include "block/core_attention.hpp"
#include "block/linear.hpp"

namespace shardfit::block {
namespace {

constexpr double kDefaultWindow = 128;  ///< where the spec has none
/// B an element of q: norm and rotation (counted, as in gqa.cpp)
constexpr double kQueryBytesForward = 8, kQueryBytesBackward = 10;
constexpr double kScoreBytes = 4;  ///< an fp32 index score
constexpr double kIndexBytes = 4;  ///< a chosen key

// Calls and launches beside the lists' (kind: counted as for multi-latent attention: modules, norms with their hooks, the
// rotation of keys, of queries and of the result; the compressor's softmax and the indexer's choice).
constexpr double kModuleCalls = 2, kNormCalls = 1, kNormLaunches = 1, kRotationCalls = 1, kRotationLaunches = 1;
constexpr double kCompressCalls = 3, kCompressLaunches = 4, kChoiceCalls = 2, kChoiceLaunches = 3;

Linear linear(const char* name, std::int64_t tokens, std::int64_t out, std::int64_t in, Split split, bool already_cast) {
  Linear l = linear(name, tokens, out, in, split);
  l.input_already_cast = already_cast;
  return l;
}

Op down_op(const CompressedMqaSpec& m, const Shapes& s) {
  Op op = attention_part("linear_down_proj");
  add_linear(op, linear("linear_q_down_proj", s.stream_tokens, m.q_lora_rank, s.hidden, Split::replicated), s);
  add_linear(op, linear("linear_kv_proj", s.stream_tokens, m.head_dim, s.hidden, Split::replicated, true), s);
  add_norm_weights(op, "kv_norm", m.head_dim, s.norm, s);
  const double rows = double(s.stream_tokens);
  keep(op, s, "compressed", tensor_bytes(rows, double(m.q_lora_rank + m.head_dim), s.e), {}, OffloadModule::qkv_linear);
  add_host(op.forward, kModuleCalls + kNormCalls + kRotationCalls, kNormLaunches + kRotationLaunches);
  add_host(op.backward, 2 * kNormCalls + kRotationCalls, 2 * kNormLaunches + kRotationLaunches);
  return op;
}

/// Every rank reads the keys of all its tokens.
void add_key_traffic(Op& op, double width, const Shapes& s) {
  if (s.tp == 1 || !s.sequence_parallel) return;
  Traffic t;
  t.name = "shared_key";
  t.bytes = double(s.tokens) * width * s.e;
  op.forward.traffic.push_back(t);
  t.kind = CollectiveKind::reduce_scatter;
  op.backward.traffic.push_back(t);
}

Op up_op(const CompressedMqaSpec& m, const Shapes& s) {
  Op op = attention_part("linear_q_up_proj");
  const EnumSet<RecomputeModule> rerun{RecomputeModule::mla_up_proj};
  op.recomputed_by = rerun;
  const std::int64_t query = std::int64_t(m.num_attention_heads) * m.head_dim / s.tp;
  add_norm_weights(op, "q_norm", m.q_lora_rank, s.norm, s);
  Linear up = linear(op.name, s.tokens, query, m.q_lora_rank, Split::tensor);
  up.adapter = LinearModule::linear_q_up_proj;
  add_linear(op, up, s);
  keep_linear_input(op, s, "q_normed", double(s.stream_tokens), double(m.q_lora_rank), rerun, {},
                    {LinearModule::linear_q_up_proj});
  add_column_traffic(op, of_module(s, up.adapter), double(m.q_lora_rank));
  add_key_traffic(op, m.head_dim, s);
  const double elements = double(s.tokens) * double(query);
  add_memory(op.forward, op.name, kQueryBytesForward * elements);
  add_memory(op.backward, op.name, kQueryBytesBackward * elements, Pass::dgrad);
  add_host(op.forward, kNormCalls + kRotationCalls, kNormLaunches);
  add_host(op.backward, 2 * kNormCalls + kRotationCalls, 2 * kNormLaunches);
  return op;
}

/// Two projections, a learned position bias for each of the r pooled places, a softmax over them, a norm.
void add_compressor(Op& op, const char* kv, const char* gate, std::int64_t dim, const CompressedMqaSpec& m, const Shapes& s) {
  const std::int64_t width = (m.compress_overlap ? 2 : 1) * dim;
  add_linear(op, linear(kv, s.stream_tokens, width, s.hidden, Split::replicated, true), s);
  add_linear(op, linear(gate, s.stream_tokens, width, s.hidden, Split::replicated, true), s);
  add_weight(op, "position_bias", ParamGroup::attention, m.compress_ratio, width, Split::replicated, s);
  add_norm_weights(op, "compressor_norm", dim, s.norm, s);
  const double rows = double(s.stream_tokens);
  keep(op, s, "compressor_inputs", tensor_bytes(rows, 2 * double(width), s.e));
  keep(op, s, "pooled", tensor_bytes(double(s.tokens) / m.compress_ratio, double(dim), s.e));
  const double bytes = rows * double(width) * s.e;
  add_memory(op.forward, "compressor", 3 * bytes);  // read both, write the (smaller) result and its softmax
  add_memory(op.backward, "compressor", 4 * bytes, Pass::dgrad);
  add_host(op.forward, kCompressCalls, kCompressLaunches);
  add_host(op.backward, kCompressCalls + 1, kCompressLaunches);  // the position bias has a hook
}

/// Scores of every query against the pooled keys before it; kept are the chosen indices only.
void add_indexer(Op& op, const CompressedMqaSpec& m, const Shapes& s) {
  const CompressedMqaSpec::Indexer& x = *m.indexer;
  const std::int64_t query = std::int64_t(x.num_heads) * x.head_dim;
  add_linear(op, linear("indexer_q_proj", s.stream_tokens, query, m.q_lora_rank, Split::replicated), s);
  add_linear(op, linear("indexer_weights_proj", s.stream_tokens, x.num_heads, s.hidden, Split::replicated, true), s);
  add_compressor(op, "indexer_compressor_kv", "indexer_compressor_gate", x.head_dim, m, s);
  Kernel scores;
  scores.name = "index_scores";
  scores.kind = KernelKind::gemm;
  scores.m = double(s.stream_tokens);
  scores.n = double(s.sequence) / 2 / m.compress_ratio * x.num_heads;
  scores.k = x.head_dim;
  scores.out_bytes = kScoreBytes / x.num_heads;  // summed over heads before they are written
  op.forward.kernels.push_back(scores);
  add_host(op.forward, kChoiceCalls, kChoiceLaunches);
  keep(op, s, "chosen_keys", tensor_bytes(double(s.tokens), x.topk, kIndexBytes));
}

Op compress_op(const CompressedMqaSpec& m, const Shapes& s) {
  Op op = attention_part("compressor");
  add_compressor(op, "compressor_kv", "compressor_gate", m.head_dim, m, s);
  if (m.indexer) add_indexer(op, m, s);
  return op;
}

double keys_seen(const CompressedMqaSpec& m, const Shapes& s) {
  const double window = m.sliding_window ? *m.sliding_window : kDefaultWindow;
  double pooled = 0;
  if (m.compress_ratio > 0) pooled = double(s.sequence) / 2 / m.compress_ratio;
  if (m.indexer) pooled = std::min(pooled, double(m.indexer->topk));
  return std::min(double(s.sequence) / 2, window + kWindowWaste + pooled);
}

Op attend_op(const CompressedMqaSpec& m, const Shapes& s) {
  CoreAttention core;
  core.heads = double(m.num_attention_heads) / s.tp;
  core.query = core.context = core.heads * m.head_dim;
  core.key_value = m.head_dim;
  core.head_dim = m.head_dim;
  core.own_kernels = true;
  const double seen = keys_seen(m, s);
  core.flops = attention_flops(core.heads, m.head_dim, m.head_dim, seen, s);
  core.effective_sequence = effective_sequence(s.sequence, int(seen));
  core.inputs_dropped_by = {RecomputeModule::mla_up_proj};
  Op op = core_attention_op(core, s);
  if (m.attention_sinks) add_sinks(op, m.num_attention_heads / s.tp, s);
  return op;
}

Op proj_op(const CompressedMqaSpec& m, const Shapes& s) {
  Op op = attention_part("linear_proj");
  const std::int64_t groups = m.o_groups / s.tp;
  const std::int64_t group_in = std::int64_t(m.num_attention_heads) * m.head_dim / m.o_groups;
  Linear down = linear("linear_o_down_proj", s.tokens, m.o_lora_rank, group_in, Split::tensor);
  down.repeats = groups;
  add_linear(op, down, s);
  Linear up = linear("linear_proj", s.tokens, s.hidden, groups * m.o_lora_rank, Split::tensor);
  up.row_parallel = true;
  up.adapter = LinearModule::linear_proj;
  add_linear(op, up, s);
  keep_linear_input(op, s, "o_compressed", double(s.tokens), double(groups * m.o_lora_rank), {}, {},
                    {LinearModule::linear_proj});
  add_row_traffic(op, of_module(s, up.adapter), double(s.hidden));
  add_host(op.forward, kRotationCalls, kRotationLaunches);
  add_host(op.backward, kRotationCalls, kRotationLaunches);
  return op;
}

}  // namespace

void append_compressed_mqa(const CompressedMqaSpec& m, const Shapes& s, OpList& ops) {
  ops.push_back(down_op(m, s));
  ops.push_back(up_op(m, s));
  if (m.compress_ratio > 0) ops.push_back(compress_op(m, s));
  ops.push_back(attend_op(m, s));
  ops.push_back(proj_op(m, s));
}

}  // namespace shardfit::block
