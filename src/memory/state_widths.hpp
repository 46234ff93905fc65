// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/static_state.hpp"

namespace shardfit::memory {

/// Bytes an element of each kind of state.
struct Widths {
  int weight = 2, gradient = 4;
  /// Quantised weights have no bf16 form that a remainder could complete
  int master = 4, master_quantized = 4;
  int exp_avg = 4, exp_avg_sq = 4;
  int gradient_copy = 0;
  bool muon = false;  ///< matrices keep one moment only
};

Widths widths(const StaticInputs& in);

}  // namespace shardfit::memory
