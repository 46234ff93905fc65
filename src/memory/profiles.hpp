// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "block/op.hpp"
#include "shardfit/ledger/ledger.hpp"

namespace shardfit::memory {

/// Parameters of a set of operations on one rank, by what they cost.
struct ParamCounts {
  std::int64_t dense = 0, expert = 0;             ///< trainable, stored in the parameter dtype
  std::int64_t dense_fp32 = 0, expert_fp32 = 0;   ///< trainable, stored in fp32 in any run
  std::int64_t frozen_dense = 0, frozen_expert = 0;
  std::int64_t linear_dense = 0, linear_expert = 0;  ///< of all, those in quantisable linear layers
  std::int64_t matrices = 0;                      ///< of the trainable, 2-D and no embedding: Muon's
  std::int64_t buffers = 0;                       ///< fp32, no gradient
  ParamCounts& operator+=(const ParamCounts& o);
  friend ParamCounts operator*(ParamCounts p, std::int64_t n);
};

ParamCounts count_params(const block::OpList& ops);

/// Distinct [rows, cols] of trainable linear weights, sorted: Transformer Engine keeps one placeholder gradient a shape.
using WeightShapes = std::vector<std::pair<std::int64_t, std::int64_t>>;
WeightShapes weight_shapes(const block::OpList& ops);

/// What a block keeps per micro-batch between its forward and its backward, and what it needs while it runs.
struct ActivationProfile {
  EnumArray<MemoryTerm, Bytes> saved{};           ///< only the saved_* terms are used
  Bytes routed;                                   ///< of `saved` at balanced routing, the part that grows with imbalance
  Bytes checkpoint;                               ///< the block's input: all that full recompute keeps
  Bytes recompute_working_set;                    ///< what backward makes again (selective: dropped tensors; full: all)
  Bytes forward_transient, backward_transient;
  Bytes offloaded;                                ///< moved to host memory by fine-grained offload
  Bytes saved_total() const;
};

}  // namespace shardfit::memory
