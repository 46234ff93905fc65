// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "block/op.hpp"
#include "validation/point_table.hpp"

namespace shardfit::calibrate {

/// A measured kernel: its shape as formulas take it, and its time. `system` is the table's name of the GPU ("gb200").
struct KernelPoint {
  std::string system;
  block::Kernel kernel;
  double cast_elements = 0;  ///< elements of the operand whose quantisation the time includes; 0: none
  double seconds = 0;
};

/// Tables of measured kernels, as one folder holds them.
struct KernelPoints {
  std::vector<KernelPoint> gemm, grouped, attention;
};

/// The points of tables that are called gemm (the fastest backend of a shape), grouped_gemm_train, attention_prefill and
/// mla_prefill (bf16, causal, no window, sequences of 1024 and more). Shapes below 256 in any dimension are left out.
/// Throws InputError for a missing column or a cell that is no number.
KernelPoints kernel_points(const std::vector<validation::PointTable>& tables);

}  // namespace shardfit::calibrate
