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
  Bytes stream;                    ///< one static input
};

/// Bytes of the graphs' private pool that a moment's other terms do not count already. `eager_activations`:
/// what the stage holds above its static part at its dearest moment; read for full_iteration only.
Bytes graph_pool_bytes(const GraphInputs& in, MemoryMoment moment, Bytes eager_activations);

}  // namespace shardfit::memory
