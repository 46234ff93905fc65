// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "block/op.hpp"
#include "block/shapes.hpp"

namespace shardfit::block {

/// B an element of two tensors of the stream added to a third: outputs of experts, gradients of one more reader (counted).
inline constexpr double kSumBytes = 6;

/// The sizes of an MoE layer on one rank.
struct MoeSizes {
  double tokens = 0;  ///< T, tokens that the rank brings to the dispatcher
  std::int64_t num_experts = 0, local_experts = 0;
  int top_k = 0;
  RoutingLimit limit;
  int group = 1;            ///< ep * etp, ranks of the dispatcher
  std::int64_t inner = 0;   ///< width that the experts read and write: latent_size or hidden
  std::int64_t width = 0;   ///< intermediate columns of one expert on the rank
  int inputs = 2;           ///< of the activation: 2 gated, 1 not
  double rows = 0;          ///< A, expert rows on the rank at balanced routing
  double busy_rows = 0;     ///< the same on the busiest rank
  bool fixed_rows = false;  ///< padded to capacity: the busiest rank has no more than any other
  double rows_per_expert() const { return busy_rows / double(local_experts); }
};

/// Source: Megatron-LM core/transformer/moe/{moe_utils,token_dispatcher}.py (get_capacity, num_out_tokens).
MoeSizes moe_sizes(const MoeMlpSpec& spec, const Shapes& shapes);

/// Ranks that one token reaches, of those that the expert libraries send to once; all etp ranks of an expert's.
double rank_hits(const MoeSizes& sizes, const Shapes& shapes);

/// Router GEMM, scores and top-k.
Op router_op(const MoeMlpSpec& spec, const MoeSizes& sizes, const Shapes& shapes);
/// What the dispatcher works out from the routing map before any token moves.
Op preprocess_op(const MoeSizes& sizes, const Shapes& shapes);
Op dispatch_op(const MoeSizes& sizes, const Shapes& shapes);
Op combine_op(const MoeSizes& sizes, const Shapes& shapes);
/// The two shared projections around experts of a smaller width.
Op latent_down_op(const MoeSizes& sizes, const Shapes& shapes);
Op latent_up_op(const MoeSizes& sizes, const Shapes& shapes);
/// fc1, activation and fc2 of the local experts.
void append_experts(const MoeMlpSpec& spec, const MoeSizes& sizes, const Shapes& shapes, OpList& ops);
/// Norms of a layer whose router, routed and shared experts norm for themselves: of the inputs of router and shared expert
/// (that of the routed experts is the layer's pre-MLP norm), and of both outputs.
void append_input_norms(const MoeMlpSpec& spec, const MoeSizes& sizes, const Shapes& shapes, OpList& ops);
void append_output_norms(const MoeMlpSpec& spec, const Shapes& shapes, OpList& ops);
void append_shared_expert(const MoeMlpSpec& spec, const Shapes& shapes, OpList& ops);

}  // namespace shardfit::block
