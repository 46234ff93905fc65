// SPDX-License-Identifier: Apache-2.0
// Computes:   what linear layers keep of their inputs for the backward pass.
// Formula:    the column-wise quantised copy in place of the bf16 input, in the precision of the linear that reads it; the
//             bf16 tensor where nothing is quantised or the layer quantises again in backward.
// Source:     Transformer Engine pytorch/module/{linear,layernorm_linear}.py, pytorch/tensor/*.py.
// Valid when: one reader among several decides (a norm's output goes to linears of one precision).
// Ignores:    biases.
// Checked by: tests/block/linear_test.cpp, tests/laws/mixed_precision_test.cpp.
#include "block/linear.hpp"

namespace shardfit::block {
namespace {

// Width of a quantised copy, B an element: the codes and one scale a block.
constexpr double kMxfp8Width = 1 + 1.0 / 32;
constexpr double kBlockwiseWidth = 1 + 4.0 / 128;
constexpr double kNvfp4Width = 0.5 + 1.0 / 16;

}  // namespace

double linear_input_width(const Shapes& s, EnumSet<LinearModule> readers) {
  for (std::size_t i = 0; i < kCount<LinearModule>; ++i)
    if (const LinearModule m = LinearModule(i); readers.contains(m) && s.module_precision[m])
      return linear_input_width(of_module(s, m));
  return linear_input_width(s);
}

double linear_input_width(const Shapes& s) {
  switch (s.precision) {
    case Precision::fp8_delayed:
    case Precision::fp8_tensorwise: return 1;
    case Precision::mxfp8: return kMxfp8Width;
    case Precision::fp8_blockwise: return kBlockwiseWidth;
    case Precision::nvfp4: return kNvfp4Width;
    default: return s.e;
  }
}

void keep(Op& op, const Shapes& s, const char* name, Bytes bytes, EnumSet<RecomputeModule> dropped_by,
          std::optional<OffloadModule> offload) {
  if (!runs_backward(s) || bytes.value <= 0) return;
  op.saved.push_back({name, bytes, dropped_by, offload, false});
}

void keep_linear_input(Op& op, const Shapes& s, const char* name, double rows, double cols, EnumSet<RecomputeModule> dropped_by,
                       std::optional<OffloadModule> offload, EnumSet<LinearModule> adapters) {
  if (!needs_linear_input(s, adapters)) return;
  const double width = trains_base(s) ? linear_input_width(s, adapters) : s.e;
  keep(op, s, name, tensor_bytes(rows, cols, width), dropped_by, offload);
}

void keep_reference_input(Op& op, const Shapes& s, const char* name, double rows, double cols, EnumSet<LinearModule> adapters) {
  if (needs_linear_input(s, adapters)) keep(op, s, name, tensor_bytes(rows, cols, s.e));
}

void keep_delayed_copy(Op& op, const Shapes& s, double rows, double cols) {
  if (s.precision == Precision::fp8_delayed && trains_base(s))
    keep(op, s, "projection_input_fp8", tensor_bytes(rows, cols, linear_input_width(s)));
}

}  // namespace shardfit::block
