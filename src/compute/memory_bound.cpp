// SPDX-License-Identifier: Apache-2.0
// Computes: time of kernels bound by memory: element-wise work, norms, and permutations of tokens.
// Formula:  bytes moved / reached bandwidth. Permutations reach less (scattered rows).
// Source:   reached fractions: hardware/step-time.json (memory_hopper, memory_blackwell).
// Valid when: tensors beyond the L2 cache; the launch floor is counted by the kernel gaps.
// Ignores:  L2 hits between neighbouring kernels.
// Checked by: tests/compute/memory_bound_test.cpp.
#include "compute/work_time.hpp"

namespace shardfit::compute {

double memory_time(const block::Kernel& kernel, const Device& device) {
  return kernel.bytes / device.memory_bandwidth;
}

double permute_time(const block::Kernel& kernel, const Device& device) {
  return kernel.bytes / device.permute_bandwidth;
}

}  // namespace shardfit::compute
