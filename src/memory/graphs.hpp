// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/ledger/ledger.hpp"
#include "shardfit/spec/layout.hpp"

namespace shardfit::memory {

/// What a stage's CUDA graphs capture.
struct GraphInputs {
  CudaGraphImpl impl = CudaGraphImpl::none;
  Bytes graphed_saved;             ///< saved by captured operations, all live micro-batches
  Bytes graphed_transient;         ///< largest transient of a captured operation
  std::int64_t static_inputs = 0;  ///< captured layers times live micro-batches
  bool stream_reuse = false;       ///< capture reuses what other streams have freed
  Bytes stream;                    ///< the hidden states among a layer's static inputs
  Bytes attention_mask;            ///< [b, s/cp, s] of a byte, where attention is captured and takes a mask
};

/// What torch counts as allocated for the graphs beside a moment's other terms. `eager_activations`: what the
/// stage holds above its static part at its dearest moment; read for full_iteration only.
Bytes graph_pool_bytes(const GraphInputs& in, MemoryMoment moment, Bytes eager_activations);

/// What the graphs' private pool reserves at a moment without counting as allocated.
Bytes graph_reserve_bytes(const GraphInputs& in, MemoryMoment moment, Bytes eager_activations);

}  // namespace shardfit::memory
