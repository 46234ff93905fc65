// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "block/op.hpp"
#include "shardfit/ledger/ledger.hpp"
#include "shardfit/spec/layout.hpp"

namespace shardfit::memory {

/// Parameters of a set of operations on one rank, by what they cost. Adds over the layers of a stage and
/// multiplies by a number of equal layers.
struct ParamCounts {
  std::int64_t dense = 0, expert = 0;            ///< trainable, stored in the parameter dtype
  std::int64_t dense_fp32 = 0, expert_fp32 = 0;  ///< trainable, stored in fp32 in any run
  std::int64_t frozen_dense = 0, frozen_expert = 0;
  std::int64_t linear_dense = 0, linear_expert = 0;  ///< of all, those that multiply in the run's fp8 or fp4
  std::int64_t linear_trainable_dense = 0, linear_trainable_expert = 0;  ///< of these, the trainable ones
  std::int64_t matrices = 0;                                             ///< of the trainable, 2-D and no embedding: Muon's
  std::int64_t matrices_expert = 0;                                      ///< of `matrices`, those in the expert grid
  /// Elements of Muon's largest one; a sum keeps the larger
  std::int64_t largest_matrix = 0, largest_matrix_expert = 0;
  /// Elements lost where each trainable parameter starts at a multiple of 64
  std::int64_t gaps_dense = 0, gaps_expert = 0;
  std::int64_t buffers = 0;            ///< fp32, no gradient
  std::int64_t copy_bytes_expert = 0;  ///< those of experts among copy_bytes
  std::int64_t copy_bytes = 0;  ///< of quantised copies of weights that are stored in bf16 whatever the run's parameters are
  std::int64_t replicated = 0;  ///< of the trainable dense ones of the language model, those that tp does not split

  ParamCounts& operator+=(const ParamCounts& o);
  friend ParamCounts operator*(ParamCounts p, std::int64_t n);
  friend bool operator==(const ParamCounts&, const ParamCounts&) = default;
};

ParamCounts count_params(const block::OpList& ops);

/// Muon treats matrices that multiply; embeddings, convolution kernels and single rows stay with Adam.
bool is_muon_matrix(const block::Op& op, const block::Weight& w);

/// Distinct [rows, cols] of trainable linear weights and of a trainable head, sorted: Transformer Engine
/// keeps one placeholder gradient a shape, Megatron's head another.
using WeightShapes = std::vector<std::pair<std::int64_t, std::int64_t>>;
WeightShapes weight_shapes(const block::OpList& ops);

/// Bytes by saved_* term, the only ones that a block keeps. The sum is kept beside the rows, so that it is one number to
/// read where the terms do not matter.
class SavedBytes {
 public:
  static constexpr std::size_t kFirst = std::size_t(MemoryTerm::saved_attention),
                               kEnd = std::size_t(MemoryTerm::saved_head) + 1;
  void add(MemoryTerm term, Bytes bytes) {
    rows_[std::size_t(term) - kFirst] += bytes;
    total_ += bytes;
  }
  Bytes operator[](MemoryTerm term) const { return rows_[std::size_t(term) - kFirst]; }
  Bytes total() const { return total_; }
  SavedBytes& operator+=(const SavedBytes& o) {
    for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i] += o.rows_[i];
    total_ += o.total_;
    return *this;
  }

 private:
  Bytes total_;
  std::array<Bytes, kEnd - kFirst> rows_{};
};

/// Bytes by the graph scope of the operations that save them.
struct ScopedBytes {
  EnumArray<GraphScope, Bytes> in_scope{};
  Bytes without_scope;

  ScopedBytes& operator+=(const ScopedBytes& o) {
    for (std::size_t i = 0; i < in_scope.size(); ++i) in_scope[GraphScope(i)] += o.in_scope[GraphScope(i)];
    without_scope += o.without_scope;
    return *this;
  }
  /// Of them, what the graphs of a layout hold. A graph of the whole iteration has one pool for everything: see graphs.cpp.
  Bytes held_by(const CudaGraph& graph) const {
    const bool whole_layers = graph.impl == CudaGraphImpl::local && graph.scopes.empty();
    if (graph.impl != CudaGraphImpl::transformer_engine && graph.impl != CudaGraphImpl::local) return Bytes(0);
    Bytes sum = whole_layers ? without_scope : Bytes(0);
    for (std::size_t i = 0; i < in_scope.size(); ++i)
      if (whole_layers || graph.scopes.contains(GraphScope(i))) sum += in_scope[GraphScope(i)];
    return sum;
  }
};

/// What a block keeps per micro-batch between its forward and its backward, and what it needs while it runs.
/// All bytes are those of balanced routing; `routed` parts grow with the stated imbalance.
struct ActivationProfile {
  Bytes routed;                                 ///< of `saved`, the part that grows with imbalance
  Bytes recompute_working_set;                  ///< what backward makes again (selective: dropped tensors; full: all)
  Bytes routed_working_set;                     ///< of it, the part that grows with imbalance
  Bytes forward_transient, backward_transient;  ///< largest of one operation
  Bytes routed_forward, routed_backward;        ///< of them, the part that grows with imbalance
  Bytes offloaded;                              ///< moved to host memory by fine-grained offload; not in `saved`
  SavedBytes saved;
  ScopedBytes scoped;  ///< of `saved`, by the scope that a CUDA graph may capture; none where full recompute keeps the input
  Bytes saved_total() const { return saved.total(); }
};

}  // namespace shardfit::memory
