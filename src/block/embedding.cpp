// SPDX-License-Identifier: Apache-2.0
// Computes:   the word (and learned position) embedding of the first stage.
// Formula:    look-up 4 B an element of [N, h], 8 B where rows of other ranks are masked; backward the same and, for the
//             dense gradient of the whole matrix, V/tp*h*(2*e + 2*gradient bytes): zeroed, written, then read and added to
//             the gradient buffer.
//             Under sequence parallelism the output is reduce-scattered, else all-reduced over tp.
// Source:     Megatron-LM core/models/common/embeddings/language_model_embedding.py, core/tensor_parallel/layers.py
//             (VocabParallelEmbedding); bytes counted.
// Valid when: tokens are looked up on every tp rank (vocabulary-parallel).
// Ignores:    token type embeddings; the batch's own ids (counted with the batch).
// Checked by: tests/block/embedding_test.cpp.
#include "block/blocks.hpp"
#include "block/edge_parts.hpp"
#include "block/linear.hpp"

namespace shardfit::block {
namespace {

/// An element: row read and written; both again where rows of other ranks are masked (counted)
constexpr double kLookupBytes = 4, kMaskBytes = 4;
// Calls and launches beside the list's (kind: counted in Megatron-LM core/models/common/embeddings): embedding and table,
// rotary angles; masks and angles are launches; backward sorts the indices and adds up by row.
constexpr double kForwardCalls = 3, kForwardLaunches = 3, kBackwardCalls = 2, kBackwardLaunches = 4;

void add_lookup_traffic(Op& op, const Shapes& s) {
  if (s.tp == 1) return;
  Traffic t;
  t.name = "embedding";
  t.bytes = double(s.tokens) * double(s.hidden) * s.e;
  t.kind = s.sequence_parallel ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
  op.forward.traffic.push_back(t);
  if (!s.sequence_parallel || !trains_base(s)) return;
  t.kind = CollectiveKind::all_gather;
  op.backward.traffic.push_back(t);
}

}  // namespace

Weight embedding_weight(const Shapes& s) {
  Weight w;
  w.name = "word_embedding";
  w.group = ParamGroup::embedding;
  w.rows = s.vocab / s.tp;
  w.cols = s.hidden;
  w.split = Split::tensor;
  w.embedding = true;
  w.trainable = trains_base(s);
  return w;
}

void add_embedding_lookup(Op& op, const Shapes& s) {
  const double elements = double(s.tokens) * double(s.hidden);
  const double lookup = (kLookupBytes + (s.tp > 1 ? kMaskBytes : 0)) * elements;
  add_memory(op.forward, "embedding", lookup);
  add_host(op.forward, kForwardCalls, kForwardLaunches);
  add_lookup_traffic(op, s);
  if (s.sequence_parallel) op.transients.push_back({"partial_embedding", tensor_bytes(elements, 1, s.e), Moment::forward, {}});
  if (!trains_base(s)) return;
  const double matrix = double(s.vocab / s.tp) * double(s.hidden);
  add_memory(op.backward, "embedding", lookup + matrix * 2 * (s.e + s.grad_bytes), Pass::wgrad);
  add_host(op.backward, kBackwardCalls, kBackwardLaunches);
  op.transients.push_back({"embedding_gradient", tensor_bytes(matrix, 1, s.e), Moment::backward, {}});
}

OpList embedding(const TextSpec& text, const Shapes& s) {
  Op op;
  op.name = "embedding";
  op.view = View::embedding;
  op.weights.push_back(embedding_weight(s));
  if (text.learned_positions > 0) {
    Weight positions = embedding_weight(s);
    positions.name = "position_embedding";
    positions.rows = text.learned_positions;
    positions.split = Split::replicated;
    op.weights.push_back(positions);
  }
  add_embedding_lookup(op, s);
  if (s.hidden_dropout) keep(op, s, "dropout_mask", tensor_bytes(double(s.stream_tokens), double(s.hidden), 1));
  return {op};
}

}  // namespace shardfit::block
