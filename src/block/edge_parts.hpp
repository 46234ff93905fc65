// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "block/op.hpp"
#include "block/shapes.hpp"

namespace shardfit::block {

// Parts that the ends of the model and its MTP depths share.

/// Adds the look-up of N tokens in the word embedding and the scatter of its gradient; no weight.
void add_embedding_lookup(Op& op, const Shapes& shapes);

/// The word embedding matrix [vocab/tp, hidden].
Weight embedding_weight(const Shapes& shapes);

/// Adds a norm over the residual stream whose output a bf16 linear reads: input, statistics and output are
/// kept.
void add_final_norm(Op& op, const Shapes& shapes);

/// Joins the streams of hyper-connections into one; nothing where there is one stream.
void append_stream_merge(const Shapes& shapes, View view, OpList& ops);

/// How a pair of output projection and loss is used.
struct LossUse {
  View view = View::head;
  bool weight_held = true;    ///< false: the weight is another module's
  bool softmax_kept = false;  ///< an MTP depth: its softmax lives until its backward, under the main loss
};

/// Cross-entropy of the logits, alone.
Op loss_op(const LossUse& use, const Shapes& shapes);

/// Output projection and cross-entropy.
void append_output_and_loss(const LossUse& use, const Shapes& shapes, OpList& ops);

}  // namespace shardfit::block
