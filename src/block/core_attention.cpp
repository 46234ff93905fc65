// SPDX-License-Identifier: Apache-2.0
// Computes:   what attention between the projections keeps, runs and sends.
// Formula:    kept N*(q + kv)*e, result N*ctx*e; fused and flash kernels N*heads*4 B of log-sum-exp; flash at b > 1 and
//             all-to-all context parallelism one more copy of the result; unfused b*heads*(s/cp)^2*e of probabilities, and
//             with dropout that much again and a mask byte. Backward executes 2.5 times the forward FLOP.
//             CP: a ring hands a rank's K and V on cp-1 times, and in backward their gradients too; all-to-all exchanges q,
//             k, v and the result; a2a+p2p exchanges over the inner group and rings over the outer one. fp8 attention with
//             scales a tensor sends 1 B an operand (q, k, v and the result's gradient), and a ring's gradients of k and v
//             home in one exchange of 1 B. A ring adds up its cp partial results, 8 B an element forward and 6 backward.
// Source:     Transformer Engine pytorch/attention/dot_product_attention/{backends,context_parallel}.py; FlashAttention's
//             backward (5 products where forward has 2); copies read off measured peaks of Megatron-LM's golden runs.
// Valid when: the mask is causal, rows are whole (packed rows see fewer keys).
// Ignores:    which sizes hierarchical groups have (two outer groups assumed); scales of fp8.
// Checked by: tests/block/gqa_test.cpp, tests/block/mla_test.cpp.
#include "block/core_attention.hpp"

#include <algorithm>

#include "block/launches.hpp"
#include "block/linear.hpp"

namespace shardfit::block {
namespace {

constexpr double kBackwardFlops = 2.5;  ///< of forward: flash backward makes the scores again
constexpr double kLogSumExp = 4;        ///< B a query and head, fp32
constexpr double kMaskByte = 1;         ///< dropout mask, B an element
// Partial results of a ring's step (counted). Forward: read it, read and write the sum, with its share of the log-sum-exp.
// Backward: the same of the query's and of the keys' and values' gradients.
constexpr double kMergeForward = 8, kMergeBackward = 6;
constexpr double kShortestEffective = 512;  ///< curves are flat below (kernel tables start here)
// Passes over the scores of an unfused softmax, each way (counted: write, read, write, read; twice in backward).
constexpr double kScorePassesForward = 4, kScorePassesBackward = 8;

// Calls beside the lists' (kind: counted in Transformer Engine pytorch/attention/dot_product_attention): Megatron's module,
// the dispatch among backends, the backend's module, its function; lengths and random state are filled in.
constexpr double kForwardCalls = 4, kForwardExtra = 1, kBackwardCalls = 1;

/// Widest head that Transformer Engine's flash and fused kernels train: wider ones run unfused. Source: Transformer Engine
/// pytorch/attention/dot_product_attention/utils.py:get_attention_backend. Kind: read.
constexpr double kWidestFusedHead = 256;

/// One exchange of the context-parallel group, or of a level of it.
struct Exchange {
  const char* name;
  Group group;
  CollectiveKind kind;
  Hides hides;
};

void send(Work& work, const Exchange& exchange, double bytes, double calls = 1) {
  Traffic t;
  t.name = exchange.name;
  t.group = exchange.group;
  t.kind = exchange.kind;
  t.bytes = bytes;
  t.calls = calls;
  t.hides = exchange.hides;
  work.traffic.push_back(t);
}

/// Adds up what the steps of a ring find, each over the rank's own queries.
void add_merges(Op& op, const CoreAttention& core, const Shapes& s) {
  const double rows = double(s.tokens) * s.cp;
  add_memory(op.forward, "partial_results", kMergeForward * rows * core.context);
  add_memory(op.backward, "partial_gradients", kMergeBackward * rows * (core.query + core.key_value), Pass::dgrad);
}

/// Bytes of a rank's tensors as they are sent. `narrow`: in fp8, by operands; results and, but for delayed scales and rings,
/// gradients stay wide.
struct CpBytes {
  bool narrow;
  double key_value, key_value_gradient, query_key_value, query_key_value_gradient, context, context_gradient;
};

/// mxfp8 attention sends bf16: its quantised copies are made after the exchange.
bool sends_fp8(const Shapes& s) {
  return s.fp8_attention && (s.precision == Precision::fp8_tensorwise || s.precision == Precision::fp8_delayed);
}

CpBytes cp_bytes(const CoreAttention& core, const Shapes& s) {
  const double n = double(s.tokens), wide = s.e, operand = sends_fp8(s) ? 1 : s.e;
  const double gradient = s.precision == Precision::fp8_delayed ? operand : wide;
  return {.narrow = sends_fp8(s),
          .key_value = n * core.key_value * operand,
          .key_value_gradient = n * core.key_value * wide,
          .query_key_value = n * (core.key_value + core.query) * operand,
          .query_key_value_gradient = n * (core.key_value + core.query) * gradient,
          .context = n * core.context * wide,
          .context_gradient = n * core.context * operand};
}

void add_ring(Op& op, const CpBytes& bytes, Group group, int members) {
  const double steps = members - 1;
  const Exchange keys{"kv_ring", group, CollectiveKind::send_recv, Hides::attention};
  const Exchange gradients{"kv_gradient_ring", group, CollectiveKind::send_recv, Hides::attention};
  send(op.forward, keys, bytes.key_value, steps);
  send(op.backward, keys, bytes.key_value, steps);
  if (!bytes.narrow) return send(op.backward, gradients, bytes.key_value_gradient, steps);
  // One gradient for every member, as wide as the operands; nothing runs beside it.
  send(op.backward, {"kv_gradient_exchange", group, CollectiveKind::all_to_all, Hides::nothing}, members * bytes.key_value);
}

void add_exchange(Op& op, const CpBytes& bytes, Group group) {
  const Exchange operands{"qkv_exchange", group, CollectiveKind::all_to_all, Hides::nothing};
  const Exchange context{"context_exchange", group, CollectiveKind::all_to_all, Hides::nothing};
  send(op.forward, operands, bytes.query_key_value);
  send(op.forward, context, bytes.context);
  send(op.backward, context, bytes.context_gradient);
  send(op.backward, operands, bytes.query_key_value_gradient);
}

void add_gather(Op& op, const CpBytes& bytes, const Shapes& s) {
  const Exchange keys{"kv_gather", Group::cp, CollectiveKind::all_gather, Hides::nothing};
  send(op.forward, keys, bytes.key_value * s.cp);
  send(op.backward, keys, bytes.key_value * s.cp);
  send(op.backward, {"kv_gradient", Group::cp, CollectiveKind::reduce_scatter, Hides::nothing},
       bytes.key_value_gradient * s.cp);
}

void add_context_parallel(Op& op, const CoreAttention& core, const Shapes& s) {
  if (s.cp == 1) return;
  const CpBytes bytes = cp_bytes(core, s);
  const int ring = hierarchical_cp_ring(s.cp);
  switch (s.cp_comm_type) {
    case CpCommType::a2a: add_exchange(op, bytes, Group::cp); return;
    case CpCommType::a2a_p2p:
      add_exchange(op, bytes, Group::cp_a2a);
      add_ring(op, bytes, Group::cp_p2p, ring);
      return;
    case CpCommType::all_gather: add_gather(op, bytes, s); return;
    default:
      add_ring(op, bytes, Group::cp, s.cp);
      add_merges(op, core, s);
      return;
  }
}

double score_elements(const CoreAttention& core, const Shapes& s) {
  const double rows = double(s.sequence) / s.cp;
  return double(s.micro_batch) * core.heads * rows * rows;
}

void keep_scores(Op& op, const CoreAttention& core, const Shapes& s) {
  const double scores = score_elements(core, s);
  const EnumSet<RecomputeModule> dropped{RecomputeModule::core_attn};
  keep(op, s, "probabilities", tensor_bytes(scores, 1, s.e), dropped, OffloadModule::core_attn);
  if (s.attention_dropout)
    keep(op, s, "dropped_probabilities", tensor_bytes(scores, 1, s.e + kMaskByte), dropped, OffloadModule::core_attn);
  op.transients.push_back({"scores", tensor_bytes(scores, 1, s.e), Moment::forward});
  op.transients.push_back({"scores_gradient", tensor_bytes(scores, 1, s.e), Moment::backward});
  add_memory(op.forward, "softmax", kScorePassesForward * scores * s.e);
  add_memory(op.backward, "softmax", kScorePassesBackward * scores * s.e, Pass::dgrad);
}

bool keeps_scores(const CoreAttention& core, const Shapes& s) {
  const bool too_wide = s.transformer_engine && !core.own_kernels && core.head_dim > kWidestFusedHead;
  return s.attention_kernel == AttentionKernel::unfused || too_wide;
}

bool exchanges_heads(const Shapes& s) {
  return s.cp > 1 && (s.cp_comm_type == CpCommType::a2a || s.cp_comm_type == CpCommType::a2a_p2p);
}

void keep_tensors(Op& op, const CoreAttention& core, const Shapes& s) {
  const double n = double(s.tokens);
  const EnumSet<RecomputeModule> rerun{RecomputeModule::core_attn};
  // FP8 attention keeps the fp8 operands for its backward, and lets the bf16 ones go.
  const double width = s.fp8_attention ? 1 : s.e;
  // Hugging Face's attention repeats keys and values to the query heads (repeat_kv) before torch's kernel keeps them.
  const double key_value = s.eager_elementwise ? std::max(core.key_value, 2 * core.query) : core.key_value;
  keep(op, s, "query_key_value", tensor_bytes(n, core.query + key_value, width), core.inputs_dropped_by,
       OffloadModule::core_attn);
  // The result is also the input of the output projection, which keeps it by reference; so recompute frees it only
  // where nothing after it trains.
  const bool held = needs_linear_input(s, {LinearModule::linear_proj});
  keep(op, s, "context", tensor_bytes(n, core.context, s.e), held ? EnumSet<RecomputeModule>{} : rerun,
       OffloadModule::attn_proj);
  if (exchanges_heads(s)) keep(op, s, "context_before_exchange", tensor_bytes(n, core.context, s.e), rerun);
  if (keeps_scores(core, s)) return keep_scores(op, core, s);
  keep(op, s, "log_sum_exp", tensor_bytes(n, core.heads, kLogSumExp), rerun);
  if (s.attention_kernel == AttentionKernel::flash && s.micro_batch > 1)
    keep(op, s, "context_transposed", tensor_bytes(n, core.context, s.e), rerun);
}

void add_kernels(Op& op, const CoreAttention& core, const Shapes& s) {
  Kernel kernel;
  kernel.name = core.name;
  kernel.kind = KernelKind::attention;
  kernel.math = s.precision == Precision::fp32 ? Math::fp32 : Math::bf16;
  kernel.flops = core.flops;
  kernel.head_dim = core.head_dim;
  kernel.groups = core.heads * double(s.micro_batch);
  kernel.m = double(s.tokens) / double(s.micro_batch);
  kernel.effective_sequence = core.effective_sequence;
  // A step of the ring sees the keys of one rank.
  if (s.cp_comm_type == CpCommType::p2p)
    kernel.effective_sequence = std::max(std::min(kShortestEffective, core.effective_sequence), core.effective_sequence / s.cp);
  kernel.fp8 = s.fp8_attention;
  op.forward.kernels.push_back(kernel);
  kernel.pass = Pass::dgrad;
  kernel.flops *= kBackwardFlops;
  kernel.launches = kAttentionBackwardLaunches;
  op.backward.kernels.push_back(kernel);
}

}  // namespace

double visible_keys(std::int64_t sequence, std::optional<int> window) {
  const double half = double(sequence) / 2;
  return window && *window < sequence ? std::min(half, *window + kWindowWaste) : half;
}

double effective_sequence(std::int64_t sequence, std::optional<int> window) {
  const double s = double(sequence);
  return window ? std::max(kShortestEffective, std::min(s, 2.0 * *window)) : s;
}

double attention_flops(double heads, double qk_dim, double v_dim, double visible, const Shapes& s) {
  return 2 * heads * (qk_dim + v_dim) * double(s.sequence) * visible * double(s.micro_batch) / s.cp;
}

Op core_attention_op(const CoreAttention& core, const Shapes& s) {
  Op op = part_op(core.name, View::attention, GraphScope::attn);
  op.recomputed_by = {RecomputeModule::core_attn};
  keep_tensors(op, core, s);
  op.transients.push_back(
      {"query_key_value_gradient", tensor_bytes(double(s.tokens), core.query + core.key_value, s.e), Moment::backward});
  add_kernels(op, core, s);
  add_context_parallel(op, core, s);
  add_host(op.forward, kForwardCalls, kForwardExtra);
  add_host(op.backward, kBackwardCalls);
  return op;
}

void add_sinks(Op& op, std::int64_t heads, const Shapes& s) {
  add_weight(op, "softmax_offset", ParamGroup::attention, heads, 1, Split::tensor, s);
}

}  // namespace shardfit::block
