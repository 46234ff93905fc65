// SPDX-License-Identifier: Apache-2.0
// Computes:   the shared expert of an MoE layer, which every token passes, and its sigmoid gate.
// Formula:    a feed-forward part split over tp (ffn.cpp) that reads the pre-MLP norm's kept output; overlapped with the
//             dispatch it gathers its input itself and keeps it whole, N*h; a gate keeps the output [T, h] and a score.
// Source:     Megatron-LM core/transformer/moe/shared_experts.py; host work: block/launches.hpp.
// Valid when: tp divides the width.
// Ignores:    what of it hides behind the dispatch.
// Checked by: tests/block/moe_test.cpp.
#include "block/ffn.hpp"
#include "block/linear.hpp"
#include "block/moe_parts.hpp"

namespace shardfit::block {
namespace {

// Host work, as a dense MLP with a launch or two more (kind: fitted with the host coefficient).
constexpr double kGateScore = 4;                       ///< B, fp32
constexpr double kGateForward = 2, kGateBackward = 3;  ///< stream tensors moved by the product with the score

/// The sigmoid gate over the shared expert's output.
Op shared_gate_op(const Ffn& ffn, const Shapes& s) {
  Op op;
  op.name = "shared_gate";
  op.view = ffn.view;
  op.recomputed_by = ffn.recomputed_by;
  op.scope = ffn.scope;
  Linear gate;
  gate.name = "shared_gate";
  gate.group = ParamGroup::shared_experts;
  gate.tokens = double(s.stream_tokens);
  gate.out = 1;
  gate.in = s.hidden;
  gate.split = Split::replicated;
  gate.quantized = false;
  add_linear(op, gate, s);
  const double rows = double(s.stream_tokens), stream = rows * double(s.hidden) * s.e;
  add_memory(op.forward, "shared_gate", kGateForward * stream);
  add_host(op.forward, 1, 1);  // sigmoid, then the product
  if (runs_backward(s)) add_host(op.backward, 2, 2);
  if (runs_backward(s)) add_memory(op.backward, "shared_gate", kGateBackward * stream, Pass::dgrad);
  keep(op, s, "shared_out", tensor_bytes(rows, double(s.hidden), s.e), ffn.recomputed_by);
  keep(op, s, "shared_gate_score", tensor_bytes(rows, 1, kGateScore), ffn.recomputed_by);
  return op;
}

}  // namespace

void append_shared_expert(const MoeMlpSpec& spec, const Shapes& s, OpList& ops) {
  Ffn ffn;
  ffn.view = View::shared_expert;
  ffn.group = ParamGroup::shared_experts;
  ffn.fc1 = "shared_fc1";
  ffn.activation = "shared_activation";
  ffn.fc2 = "shared_fc2";
  ffn.intermediate = spec.shared_expert->intermediate_size;
  ffn.gated = spec.gated;
  ffn.bias = spec.bias;
  ffn.written_gate = writes_out_gate(spec.activation, spec.gated, s);
  ffn.recomputed_by = {RecomputeModule::shared_experts, RecomputeModule::moe};
  if (!s.moe_shared_expert_overlap) ffn.scope = GraphScope::moe_router;
  const std::size_t first = ops.size();
  append_ffn(ffn, s, ops);
  // The overlapped shared expert gathers its input itself and keeps it whole; else it reads the norm's kept
  // output.
  if (s.moe_shared_expert_overlap && s.sequence_parallel && trains_base(s))
    keep(ops[first], s, "shared_gathered_in", tensor_bytes(double(s.tokens), double(s.hidden), s.e), ffn.recomputed_by);
  if (spec.shared_expert->gate) ops.push_back(shared_gate_op(ffn, s));
  add_memory(ops.back().forward, "shared_sum", kSumBytes * double(s.stream_tokens) * double(s.hidden));
}

}  // namespace shardfit::block
