// SPDX-License-Identifier: Apache-2.0
// Computes:   time of the pass that casts a bf16 tensor to GEMM operands (amax, row and column copies, scales).
// Formula:    bytes / quantise bandwidth; nvfp4 (Hadamard transform, stochastic rounding) times its own factor.
// Source:     hardware/step-time.json (quantize_bandwidth, nvfp4_quantize). Bytes an element: block/linear.hpp.
// Valid when: tensors of a few MB and more (small casts have a floor of 2 to 9 us, counted by the kernel gaps).
// Ignores:    casts fused into norms and activations where the operation list does not say so.
// Checked by: tests/compute/memory_bound_test.cpp.
#include "compute/work_time.hpp"

namespace shardfit::compute {

double quantize_time(const block::Kernel& kernel, const Device& device) {
  return kernel.bytes / device.quantize_bandwidth * (kernel.fp4_cast ? device.nvfp4_quantize : 1);
}

}  // namespace shardfit::compute
