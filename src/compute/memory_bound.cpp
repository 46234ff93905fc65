// SPDX-License-Identifier: Apache-2.0
// Computes:   time of kernels bound by memory: element-wise work, norms, and permutations of tokens.
// Formula:    bytes moved / reached bandwidth. Permutations reach less (scattered rows), and so do the activations of
//             routed experts, compiled kernels of exponentials in fp32 and a reduction.
// Source:     reached fractions: hardware/step-time.json (memory_hopper, memory_blackwell, expert_activation).
// Valid when: tensors beyond the L2 cache; the launch floor is counted by the kernel gaps.
// Ignores:    L2 hits between neighbouring kernels.
// Checked by: tests/compute/memory_bound_test.cpp.
#include "compute/work_time.hpp"

namespace shardfit::compute {

double memory_time(const block::Kernel& kernel, const Device& device) { return kernel.bytes / device.memory_bandwidth; }

double expert_activation_time(const block::Kernel& kernel, const Device& device) {
  return kernel.bytes / device.expert_activation_bandwidth;
}

double permute_time(const block::Kernel& kernel, const Device& device) { return kernel.bytes / device.permute_bandwidth; }

}  // namespace shardfit::compute
