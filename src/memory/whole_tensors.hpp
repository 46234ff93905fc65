// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "block/op.hpp"

namespace shardfit::memory {

/// Trainable tensors of one size on a rank, in the dense or in the expert grid.
struct TensorSize {
  std::int64_t elements = 0, count = 0;
  bool matrix = false;  ///< Muon's: one moment; else Adam's: two
  bool expert = false;
};
using TensorSizes = std::vector<TensorSize>;

/// Adds the tensors of `copies` blocks to `sizes`. The caller keeps the vector, so that its memory is made once.
void append_tensor_sizes(const block::OpList& ops, int copies, TensorSizes& sizes);

/// What the layer-wise optimizer of one rank owns, in elements.
struct OwnedTensors {
  std::int64_t matrices = 0, others = 0;
};

/// The fullest of `ranks` after whole tensors of one grid were dealt out; sorts `sizes`.
OwnedTensors dealt_to_fullest(TensorSizes& sizes, bool expert, int ranks);

/// The same of one rank. `sizes` are sorted by elements.
OwnedTensors dealt_to(const TensorSizes& sizes, bool expert, int rank, int ranks);

}  // namespace shardfit::memory
