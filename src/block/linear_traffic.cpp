// SPDX-License-Identifier: Apache-2.0
// Computes:   the tensor-parallel collectives before a column-parallel and after a row-parallel linear.
// Formula:    of N*width elements. Sequence parallelism: gather of the input, as the product reads it (fp8 with its
//             scales), again for wgrad, reduce-scatter of its gradient in bf16; reduce-scatter of the output in bf16,
//             gather of its gradient as both products read it. Without: an all-reduce each way.
// Source:     Megatron-LM core/tensor_parallel/layers.py; Transformer Engine pytorch/module/linear.py.
// Valid when: dimensions divide by the scales' blocks (else Transformer Engine gathers in bf16).
// Checked by: tests/block/linear_test.cpp, tests/oracle/traffic_test.cpp.
#include "block/linear_traffic.hpp"

#include "block/linear.hpp"

namespace shardfit::block {
namespace {

/// Bytes an element of an output gradient on its way to the other ranks. Both products of backward read it: kinds with
/// scales a block send it by rows and by columns, per-tensor fp8 is turned where it arrives. Source: Transformer Engine
/// pytorch/module/base.py:grad_output_preprocess, pytorch/distributed.py:gather_along_first_dim.
double gathered_gradient_width(const Shapes& s) {
  const bool by_block = s.precision == Precision::mxfp8 || s.precision == Precision::fp8_blockwise ||
                        s.precision == Precision::nvfp4;
  return linear_input_width(s) * (by_block && trains_base(s) ? 2 : 1);
}

}  // namespace

void add_traffic(Work& work, const char* name, CollectiveKind kind, double bytes, Hides hides, Group group) {
  if (bytes <= 0) return;
  Traffic t;
  t.name = name;
  t.group = group;
  t.kind = kind;
  t.bytes = bytes;
  t.hides = hides;
  work.traffic.push_back(t);
}

void add_column_traffic(Op& op, const Shapes& s, double width, bool quantized) {
  if (s.tp == 1) return;
  const double elements = double(s.tokens) * width;
  const double gathered = elements * (quantized ? linear_input_width(s) : s.e);
  if (!s.sequence_parallel) {
    if (s.needs_input_grad) add_traffic(op.backward, "input_gradient", CollectiveKind::all_reduce, elements * s.e, Hides::gemm);
    return;
  }
  const Bytes buffer(static_cast<std::int64_t>(gathered));
  add_traffic(op.forward, "input", CollectiveKind::all_gather, gathered, Hides::nothing);
  op.transients.push_back({"gathered_input", buffer, Moment::forward});
  if (trains_base(s)) {
    add_traffic(op.backward, "input", CollectiveKind::all_gather, gathered, Hides::gemm);
    op.transients.push_back({"gathered_input", buffer, Moment::backward});
  }
  if (s.needs_input_grad)
    add_traffic(op.backward, "input_gradient", CollectiveKind::reduce_scatter, elements * s.e, Hides::gemm);
}

void add_row_traffic(Op& op, const Shapes& s, double width) {
  if (s.tp == 1) return;
  const double elements = double(s.tokens) * width;
  add_traffic(op.forward, "output", s.sequence_parallel ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce,
              elements * s.e, Hides::nothing);
  if (s.sequence_parallel && runs_backward(s))
    add_traffic(op.backward, "output_gradient", CollectiveKind::all_gather, elements * gathered_gradient_width(s),
                Hides::nothing);
}

}  // namespace shardfit::block
