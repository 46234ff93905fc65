// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "block/op.hpp"
#include "block/shapes.hpp"

namespace shardfit::block {

/// One linear layer as it runs on a rank: out = in x W^T, [tokens, in] x [in, out].
struct Linear {
  const char* name = "";
  ParamGroup group = ParamGroup::attention;
  double tokens = 0;
  std::int64_t out = 0, in = 0;     ///< widths on this rank
  Split split = Split::tensor;
  bool bias = false;
  bool quantized = true;            ///< runs in the job's precision; false: always in bf16 (router, head)
  bool input_already_cast = false;  ///< shares the quantised input of a linear before it
};

/// Adds to `op`: the weight (and bias), forward and backward kernels, and their casts. dgrad only where something
/// upstream trains, wgrad only where the weight does. Formula: forward [N, out] += k = in; dgrad [N, in], k = out;
/// wgrad [out, in], k = N, read and written at the gradient buffer's width. Source: Transformer Engine
/// pytorch/module/linear.py. Ignores: bias gradients (a reduction hidden in dgrad).
void add_linear(Op& op, const Linear& linear, const Shapes& shapes);

/// Adds a quantise pass of a [rows, cols] bf16 tensor to `work`: nothing for bf16. Bytes an element: per-tensor current
/// scaling 5 (6 on Hopper: no transpose-free GEMM), mxfp8 and 128-block 4.1, nvfp4 5.2.
void add_quantize(Work& work, const char* name, double rows, double cols, const Shapes& shapes);

/// Adds a memory-bound kernel that moves `bytes`.
void add_memory(Work& work, const char* name, double bytes, Pass pass = Pass::forward);

/// A norm that is an operation of its own or fused before a linear: weights, kept input and statistics (4 B a row for
/// RMSNorm, 8 for LayerNorm), kept output, and the residual add that runs with it.
/// `output_dropped_by`: modules that drop the output (only a norm that is a separate module).
Op norm_op(const char* name, const Shapes& shapes, std::int64_t width, EnumSet<RecomputeModule> output_dropped_by,
           std::optional<GraphScope> scope);

}  // namespace shardfit::block
