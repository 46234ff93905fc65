// SPDX-License-Identifier: Apache-2.0
// Computes:   the routed experts of a rank: grouped fc1, activation with the routing weight, grouped fc2.
// Formula:    with A rows a rank, El local experts, l the width they read, w their columns on the rank, g = 2 gated, 1 not:
//             kept A*l (fc1 input), A*g*w (fc1 output), A*w (activation output = fc2 input), 4*A (probabilities); without a
//             fused activation that takes the routing weight one more A*w. Backward holds 4 buffers of A*l and 2 gradients
//             of the residual stream beside them. Grouped GEMM m = A*load/El rows an expert.
// Source:     Megatron-LM core/transformer/moe/experts.py, core/fusions/fused_bias_swiglu.py,
//             fused_weighted_squared_relu.py; the backward buffers were measured: within 34 MiB on four runs of two models
//             (SimuMax, B200). LoRA: Megatron-Bridge peft/utils.py (share_expert_adapters).
// Valid when: ep divides the experts, etp their width.
// Ignores:    a second padded copy of the rows where fp8 padding is not fused into the permutation.
// Checked by: tests/block/moe_test.cpp.
#include "block/expert_linear.hpp"
#include "block/ffn.hpp"
#include "block/linear.hpp"
#include "block/moe_parts.hpp"

namespace shardfit::block {
namespace {

constexpr double kBackwardExpertBuffers = 4;    ///< of A*l, measured
constexpr double kBackwardStreamGradients = 2;  ///< measured
constexpr double kProbability = 4;              ///< B, fp32

// Bytes moved for an element by grouped kernels (kind: counted, scale fitted with the memory coefficient).

/// Tensors of the activation's width that its backward moves: the gradient of its inputs, and in a second kernel, a sum over
/// the row, that of the routing weight (reads 1 + g). Source: Megatron-LM core/fusions/fused_bias_swiglu.py,
/// weighted_swiglu_back.
constexpr double weighted_backward_tensors(int inputs) { return activation_backward_tensors(inputs) + 1 + inputs; }

// Expert biases (gpt-oss). That of fc1 is added, and its gradient summed, by the products themselves (Transformer Engine
// pytorch/module/grouped_linear.py). That of fc2 comes after them, expert by expert (kind: counted in experts.py:_apply_bias):
// a product with the routing weight in fp32 (4 written), its sum with the rows (6, 4), concatenation (4, 4), cast (4, 2);
// backward casts (6), multiplies twice (6, 6) and adds up over rows and columns (4, 4). In a fused grouped MLP it costs one
// more read of the output's gradient (Transformer Engine triton/grouped_dbias_dscales.py). The stream: the output's cast and
// the gradient's.
constexpr double kBiasForward = 28, kBiasBackward = 26, kBiasStream = 8;

// Calls and launches beside the lists' (kind: counted in experts.py): the activation module, its function; a sum of the routing
// weights' gradients.
constexpr double kActivationForwardCalls = 2, kActivationBackwardCalls = 1, kActivationBackwardExtra = 1;

constexpr EnumSet<RecomputeModule> kDroppedByMoe{RecomputeModule::moe};
constexpr EnumSet<RecomputeModule> kDroppedByActivation{RecomputeModule::moe_act, RecomputeModule::moe};

/// Whether the activation kernel takes the routing weight, so that nothing between the two is kept.
bool activation_takes_weight(const MoeMlpSpec& spec) { return spec.gated || spec.activation == "relu2"; }

std::optional<OffloadModule> offload_as(const Shapes& s, OffloadModule module) {
  return s.fused_grouped_mlp ? OffloadModule::fused_group_mlp : module;
}

void mark_routed(Op& op, std::size_t from, const MoeSizes& z) {
  for (std::size_t i = from; i < op.saved.size(); ++i) op.saved[i].routed = !z.fixed_rows;
}

Op expert_op(const char* name, EnumSet<RecomputeModule> recomputed_by) {
  Op op;
  op.name = name;
  op.view = View::experts;
  op.recomputed_by = recomputed_by;
  op.scope = GraphScope::moe;
  return op;
}

Op fc1_op(const MoeMlpSpec& spec, const MoeSizes& z, const Shapes& s) {
  Op op = expert_op("expert_fc1", kDroppedByMoe);
  ExpertLinear l;
  l.name = "experts.fc1";
  l.out = z.inputs * z.width;
  l.in = z.inner;
  l.bias = spec.bias;
  l.input_grad = s.needs_input_grad;
  l.casts_output_grad = !s.fused_grouped_mlp;
  add_expert_linear(op, l, z, s);
  add_expert_linear_host(op, l.adapter, z, s);
  keep_linear_input(op, s, "expert_in", z.rows, double(z.inner), kDroppedByMoe, offload_as(s, OffloadModule::expert_fc1),
                    {l.adapter});
  mark_routed(op, 0, z);
  if (!runs_backward(s)) return op;
  const Bytes buffers = tensor_bytes(z.rows, double(z.inner), kBackwardExpertBuffers * s.e);
  const Bytes stream = tensor_bytes(double(s.stream_tokens), double(s.hidden), kBackwardStreamGradients * s.e);
  op.transients.push_back(
      {"expert_and_stream_gradients", buffers + stream, Moment::backward, z.fixed_rows ? Bytes{} : buffers});
  return op;
}

double activation_bytes(const MoeSizes& z, const Shapes& s, bool forward) {
  const int inputs = z.inputs;
  // Fused with the products around it: outputs are written, nothing is read again.
  const double tensors = s.fused_grouped_mlp ? (forward ? 1 : inputs + 1)
                         : forward           ? activation_forward_bytes(inputs, 1)
                                             : weighted_backward_tensors(inputs);
  return z.busy_rows * tensors * s.e * double(z.width);
}

double bias_bytes(const MoeSizes& z, const Shapes& s, bool forward) {
  const double width = s.fused_grouped_mlp ? (forward ? 0 : s.e) : forward ? kBiasForward : kBiasBackward;
  return z.busy_rows * width * double(z.inner);
}

/// Element-wise work of the experts, weighted by fp32 routing weights.
void add_elementwise(Work& work, const char* name, double bytes, Pass pass) {
  if (bytes <= 0) return;
  Kernel kernel;
  kernel.name = name;
  kernel.kind = KernelKind::expert_activation;
  kernel.pass = pass;
  kernel.bytes = bytes;
  work.kernels.push_back(kernel);
}

Op activation_op(const MoeMlpSpec& spec, const MoeSizes& z, const Shapes& s) {
  Op op = expert_op("expert_activation", kDroppedByActivation);
  add_elementwise(op.forward, "expert_activation", activation_bytes(z, s, true), Pass::forward);
  add_host(op.forward, kActivationForwardCalls);
  keep(op, s, "expert_fc1_out", tensor_bytes(z.rows, double(z.inputs * z.width), s.e), kDroppedByMoe,
       offload_as(s, OffloadModule::moe_act));
  keep(op, s, "expert_probabilities", tensor_bytes(z.rows, 1, kProbability), kDroppedByMoe);
  if (!activation_takes_weight(spec))
    keep(op, s, "expert_activation_unweighted", tensor_bytes(z.rows, double(z.width), s.e), kDroppedByActivation);
  // Both factors of the gate, and their product before the routing weight multiplies it.
  if (writes_out_gate(spec.activation, spec.gated, s) && !s.fused_grouped_mlp)
    keep(op, s, "expert_gate_factors", tensor_bytes(z.rows, 3 * double(z.width), s.e), kDroppedByActivation);
  mark_routed(op, 0, z);
  if (!runs_backward(s)) return op;
  add_elementwise(op.backward, "expert_activation", activation_bytes(z, s, false), Pass::dgrad);
  add_host(op.backward, kActivationBackwardCalls, kActivationBackwardExtra);
  return op;
}

Op fc2_op(const MoeMlpSpec& spec, const MoeSizes& z, const Shapes& s) {
  Op op = expert_op("expert_fc2", kDroppedByMoe);
  ExpertLinear l;
  l.name = "experts.fc2";
  l.out = z.inner;
  l.in = z.width;
  l.adapter = LinearModule::linear_fc2;
  l.bias = spec.bias;
  l.input_grad = runs_backward(s);
  l.casts_input = !s.fused_grouped_mlp;
  add_expert_linear(op, l, z, s);
  add_expert_linear_host(op, l.adapter, z, s);
  std::optional<OffloadModule> offload;
  if (s.fused_grouped_mlp) offload = OffloadModule::fused_group_mlp;
  keep_linear_input(op, s, "expert_activation_out", z.rows, double(z.width), kDroppedByActivation, offload, {l.adapter});
  mark_routed(op, 0, z);
  if (!spec.bias) return op;
  const double stream = kBiasStream * double(s.stream_tokens) * double(s.hidden);
  add_elementwise(op.forward, "expert_bias", bias_bytes(z, s, true), Pass::forward);
  add_memory(op.forward, "expert_bias_stream", stream);
  if (!runs_backward(s)) return op;
  add_elementwise(op.backward, "expert_bias", bias_bytes(z, s, false), Pass::dgrad);
  add_memory(op.backward, "expert_bias_stream", stream, Pass::dgrad);
  return op;
}

}  // namespace

void append_experts(const MoeMlpSpec& spec, const MoeSizes& z, const Shapes& s, OpList& ops) {
  ops.push_back(fc1_op(spec, z, s));
  ops.push_back(activation_op(spec, z, s));
  ops.push_back(fc2_op(spec, z, s));
}

}  // namespace shardfit::block
