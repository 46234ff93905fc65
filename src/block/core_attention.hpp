// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "block/op.hpp"
#include "block/shapes.hpp"

namespace shardfit::block {

/// Keys a query beyond its window that whole tiles visit. Fitted to kernel times.
inline constexpr double kWindowWaste = 96;

/// Softmax attention between the projections, as one rank runs it. Widths are elements a token on this rank.
struct CoreAttention {
  const char* name = "core_attention";
  double heads = 0;                            ///< query heads
  double query = 0;                            ///< width of q
  double key_value = 0;                        ///< width of k and v together, as the kernel reads them
  double context = 0;                          ///< width of the result
  double flops = 0;                            ///< forward, executed
  int head_dim = 0;                            ///< chooses the kernel's rate; 0: MLA
  bool own_kernels = false;                    ///< the model brings kernels for its heads, however wide
  double effective_sequence = 0;               ///< length that decides its efficiency
  EnumSet<RecomputeModule> inputs_dropped_by;  ///< modules that make q, k and v again
};

/// Keys that a causal query sees on average: s/2, or the window (plus what block masks of the kernel waste).
double visible_keys(std::int64_t sequence, std::optional<int> window);

/// Length to read an attention curve at: s, or twice the window.
double effective_sequence(std::int64_t sequence, std::optional<int> window);

/// Forward FLOP of q k^T and p v on a context-parallel rank: 2 * heads * (d_qk + d_v) * s * visible * b / cp.
double attention_flops(double heads, double qk_dim, double v_dim, double visible, const Shapes& shapes);

/// The operation: kept q, k, v, result, softmax or statistics; kernels; context-parallel traffic.
Op core_attention_op(const CoreAttention& core, const Shapes& shapes);

/// Adds one learned logit a head on this rank.
void add_sinks(Op& op, std::int64_t heads, const Shapes& shapes);

}  // namespace shardfit::block
