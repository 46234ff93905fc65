// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "block/op.hpp"
#include "block/shapes.hpp"

namespace shardfit::block {

/// Whether a gated activation runs as single operations in Megatron: it fuses SwiGLU and quick GeGLU, not the tanh GeLU of
/// Gemma. Its product keeps both factors, one of them a copy (`x_linear + glu_linear_offset`). Source: Megatron-LM
/// core/transformer/mlp.py, moe/experts.py:bias_act_func.
inline bool writes_out_gate(const std::string& activation, bool gated, const Shapes& s) {
  return gated && activation.starts_with("gelu") && !s.recompute_by_operation;
}

/// A feed-forward part split over tp: fc1 by its output, activation, fc2 by its input. The dense MLP of a
/// layer and the shared expert of an MoE layer are both one.
struct Ffn {
  View view = View::dense_mlp;
  ParamGroup group = ParamGroup::dense_mlp;
  const char* fc1 = "fc1";
  const char* activation = "activation";
  const char* fc2 = "fc2";
  std::int64_t intermediate = 0;  ///< undivided
  bool gated = true, bias = false;
  bool written_gate = false;  ///< the gated activation runs as single operations, see writes_out_gate
  EnumSet<RecomputeModule> recomputed_by;
  std::optional<GraphScope> scope;
};

/// Appends the three operations. The input of fc1 is kept by whoever made it (norm_op).
void append_ffn(const Ffn& ffn, const Shapes& shapes, OpList& ops);

/// Bytes that an activation kernel moves for one element of its output: reads `inputs` (2 gated, 1 not),
/// writes one.
constexpr double activation_forward_bytes(int inputs, int e) { return (inputs + 1) * e; }
/// Backward of the same, in tensors of the output's width: reads inputs and output gradient, writes input gradients. (The
/// compiled kernel writes two halves side by side; what both read, the second has from L2.)
constexpr double activation_backward_tensors(int inputs) { return 2 * inputs + 1; }
constexpr double activation_backward_bytes(int inputs, int e) { return activation_backward_tensors(inputs) * e; }

}  // namespace shardfit::block
