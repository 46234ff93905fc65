// SPDX-License-Identifier: Apache-2.0
// Computes:   one depth of multi-token prediction: the shifted token's embedding and the previous depth's state are normed,
//             joined by a projection, run through inner decoder blocks, and end in logits of their own.
// Formula:    beside its inner blocks a depth keeps 6 tensors of the residual stream (embedding, state, the joined input of
//             twice the width, the last norm's input and output) and its softmax, 4 B a logit (e with Transformer Engine's
//             loss).
// Source:     Megatron-LM core/transformer/multi_token_prediction.py; 6 tensors and the softmax matched measured peaks of
//             DeepSeek-V3 proxies at step 5 within 55 MiB of 11 to 16 GiB on H100.
// Valid when: embedding and head are shared with the main model (a spec that says otherwise gets its own).
// Ignores:    the roll of tokens and labels, its exchange between context-parallel ranks.
// Checked by: tests/block/mtp_test.cpp.
#include "block/blocks.hpp"
#include "block/edge_parts.hpp"
#include "block/linear.hpp"
#include "shardfit/spec/model_dims.hpp"

namespace shardfit::block {
namespace {

/// Norms and concatenation, B an element (counted)
constexpr double kJoinForwardBytes = 16, kJoinBackwardBytes = 24;
// Calls and launches beside the lists' (kind: counted in multi_token_prediction.py): labels and tokens rolled, two norms,
// the concatenation.
constexpr double kJoinForwardCalls = 5, kJoinForwardLaunches = 5, kJoinBackwardCalls = 5, kJoinBackwardLaunches = 7;

void add_projection(Op& op, const MtpSpec& mtp, const Shapes& s) {
  Linear linear;
  linear.name = "mtp_projection";
  linear.group = ParamGroup::mtp_projection;
  linear.tokens = double(s.tokens);
  linear.out = s.hidden / s.tp;
  linear.in = mtp.input_projection_split ? s.hidden : 2 * s.hidden;
  linear.repeats = mtp.input_projection_split ? 2 : 1;
  add_linear(op, linear, s);
  keep_linear_input(op, s, "joined_input", double(s.stream_tokens), 2.0 * double(s.hidden));
  add_column_traffic(op, s, 2.0 * double(s.hidden));
  if (s.tp == 1) return;
  Traffic gather;  // the projection's output columns, before the stream is split by rows again
  gather.name = "mtp_projection";
  gather.kind = CollectiveKind::all_gather;
  gather.bytes = double(s.tokens) * double(s.hidden) * s.e;
  op.forward.traffic.push_back(gather);
  if (s.sequence_parallel && runs_backward(s)) op.backward.traffic.push_back(gather);
}

Op join_op(const MtpSpec& mtp, const Shapes& s) {
  Op op;
  op.name = "mtp_join";
  op.view = View::mtp;
  const double rows = double(s.stream_tokens), width = double(s.hidden), elements = rows * width;
  for (const char* name : {"embedding_norm", "hidden_norm"}) add_norm_weights(op, name, s.hidden, s.norm, s);
  add_memory(op.forward, "mtp_join", kJoinForwardBytes * elements);
  if (runs_backward(s)) add_memory(op.backward, "mtp_join", kJoinBackwardBytes * elements, Pass::dgrad);
  keep(op, s, "embedding_norm_in", tensor_bytes(rows, width, s.e));
  keep(op, s, "hidden_norm_in", tensor_bytes(rows, width, s.e));
  keep(op, s, "norm_statistics", tensor_bytes(rows, 2, norm_statistics_width(s)));
  add_projection(op, mtp, s);
  add_host(op.forward, kJoinForwardCalls, kJoinForwardLaunches);
  if (runs_backward(s)) add_host(op.backward, kJoinBackwardCalls, kJoinBackwardLaunches);
  return op;
}

Op embedding_op(const MtpSpec& mtp, const Shapes& s) {
  Op op;
  op.name = "mtp_embedding";
  op.view = View::mtp;
  if (!mtp.shares_embedding_and_head) op.weights.push_back(embedding_weight(s));
  add_embedding_lookup(op, s);
  return op;
}

}  // namespace

OpList mtp_layer(const TextSpec& text, const Shapes& run, bool first_depth) {
  const Shapes s = of_mtp(run);
  const MtpSpec mtp = text.mtp.value_or(MtpSpec{});
  OpList ops{embedding_op(mtp, s), join_op(mtp, s)};
  for (const BlockRef& block : mtp_blocks(text)) {
    OpList inner = decoder_block(text, block, s);
    ops.insert(ops.end(), inner.begin(), inner.end());
  }
  append_stream_merge(s, View::mtp, ops);
  if (mtp.final_norm) {
    Op norm;
    norm.name = "mtp_final_norm";
    norm.view = View::mtp;
    add_final_norm(norm, s);
    ops.push_back(norm);
  }
  LossUse use;
  use.view = View::mtp;
  use.weight_held = !mtp.shares_embedding_and_head;
  use.softmax_kept = true;
  append_output_and_loss(use, s, ops);
  if (!first_depth)
    for (Op& op : ops) op.weights.clear();
  return ops;
}

}  // namespace shardfit::block
