// SPDX-License-Identifier: Apache-2.0
// Computes:   time of a chunked linear-recurrence scan (Mamba2 SSD, gated delta rule), forward or backward.
// Formula:    executed FLOP / scan rate, the rate in proportion to SMs.
// Source:     rate: hardware/step-time.json (scan_tflops, on 132 SMs). One TFLOP/s figure fits Hopper and Blackwell far
//             better than one fraction of peak: the kernels gain nothing from the newer tensor cores.
// Valid when: chunks of 64 to 128 tokens, thousands of tokens.
// Ignores:    number type, head count, short sequences.
// Checked by: tests/compute/memory_bound_test.cpp.
#include "compute/work_time.hpp"

namespace shardfit::compute {

double scan_time(const block::Kernel& kernel, const Device& device) { return kernel.flops / device.scan_flops; }

}  // namespace shardfit::compute
