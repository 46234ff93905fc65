// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "block/op.hpp"

namespace shardfit::calibrate {

/// A measured kernel: its shape as formulas take it, and its time. `system` is the table's name of the GPU ("gb200").
struct KernelPoint {
  std::string system;
  block::Kernel kernel;
  double cast_elements = 0;   ///< elements of the operand whose quantisation the time includes; 0: none
  double seconds = 0;
};

/// Tables of measured kernels, as one folder holds them.
struct KernelPoints {
  std::vector<KernelPoint> gemm, grouped, attention;
};

/// Reads gemm.csv (the fastest backend of a shape), grouped_gemm_train.csv, attention_prefill.csv and
/// mla_prefill.csv (bf16, causal, no window, sequences of 1024 and more) of a folder. Columns are found by
/// name; a table that is not there is skipped. Shapes below 256 in any dimension are left out.
/// Throws InputError for a folder without any of them, a missing column or a cell that is no number.
KernelPoints load_kernel_points(const std::string& folder);

}  // namespace shardfit::calibrate
