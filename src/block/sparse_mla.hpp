// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "block/op.hpp"
#include "block/shapes.hpp"

namespace shardfit::block {

/// What sparse latent attention has on one rank. Widths are elements a token.
struct SparseSizes {
  std::int64_t heads = 0;                           ///< query heads
  std::int64_t query = 0, absorbed = 0, value = 0;  ///< of all its heads: as projected, turned to the latent, as results
  std::int64_t key = 0;                             ///< of the one latent key: kv_lora_rank + qk_rope_head_dim
  double rows = 0, keys = 0;     ///< queries of the rank; keys that it gathers from all context-parallel ranks
  double pairs = 0, chosen = 0;  ///< query-key pairs: causal ones, and those attended to
};

/// Sizes of a model's layer under `shapes`.
SparseSizes sparse_sizes(const MlaSpec& spec, const Shapes& shapes);

/// The attention kernel of `flops` over a rank's queries; `head_dim` 0: latent.
Kernel sparse_kernel(const char* name, double flops, int head_dim, const SparseSizes& sizes, const Shapes& shapes);

/// Whether a library's kernels run it; else single torch operations, with every score in memory.
constexpr bool has_sparse_kernels(const Shapes& s) { return s.dsa_kernel_backend != DsaKernelBackend::none; }

/// A gather of `bytes` over a group, and the scatter of its gradient if one comes back.
void add_sparse_gather(Op& op, const char* name, Group group, double bytes, bool backward);

/// The lightning indexer: projections, scores of every key before a query, the choice, and what a loss on the scores costs.
Op sparse_index_op(const MlaSpec& spec, const SparseSizes& sizes, const Shapes& shapes);

}  // namespace shardfit::block
