// SPDX-License-Identifier: Apache-2.0
// Computes:   the norms inside an MoE layer whose router, routed and shared experts each norm for themselves (Gemma-4).
// Formula:    the shared expert's input norm (its output is fc1's input), a norm of the router's input without a weight but
//             with a trained scale of h and one of E on the weights that it gives, norms of both outputs. Written in single
//             fp32 operations: 8 B an element kept, 4 more where the weight trains; the router keeps its scaled input and
//             what the scale multiplies.
// Source:     Megatron-Bridge models/gemma/modeling_gemma4.py: Gemma4TransformerLayer, Gemma4TopKRouter, Gemma4MoELayer,
//             _gemma4_rms_norm; Hugging Face's Gemma-4 decoder layer has the same norms in the same form.
// Valid when: nothing compiles the norms.
// Ignores:    the scalar that multiplies a layer's output.
// Checked by: tests/block/moe_norms_test.cpp.
#include "block/linear.hpp"
#include "block/moe_parts.hpp"

namespace shardfit::block {
namespace {

constexpr double kScaleForward = 8, kScaleBackward = 14, kScaleLaunches = 2;  ///< two products (counted)

/// Recompute of the whole MoE layer frees what its inner norms keep.
void drop_with_layer(Op& op) {
  op.recomputed_by = {RecomputeModule::moe};
  for (Saved& t : op.saved) t.dropped_by.insert(RecomputeModule::moe);
}

Op inner_norm(const char* name, const Shapes& s, NormOutput output, EnumSet<LinearModule> readers = {}) {
  Op op = norm_op(name, s, s.hidden, {}, GraphScope::moe_router, output, readers);
  add_host(op.forward, 1);
  add_host(op.backward, 1);
  return op;
}

Op router_norm(const MoeSizes& z, const Shapes& s) {
  Op op = norm_op("router_norm", s, s.hidden, {}, GraphScope::moe_router, NormOutput::not_kept);
  op.weights.clear();
  add_weight(op, "router_scale", ParamGroup::router, s.hidden, 1, Split::replicated, s);
  add_weight(op, "per_expert_scale", ParamGroup::router, z.num_experts, 1, Split::replicated, s);
  std::erase_if(op.saved, [](const Saved& t) { return std::string_view(t.name) == "norm_scaled"; });  // no weight in the norm
  const double elements = z.tokens * double(s.hidden);
  if (trains_base(s)) {
    keep(op, s, "router_scale_in", tensor_bytes(elements, 1, s.e));
    keep(op, s, "router_in", tensor_bytes(elements, 1, s.e));
  }
  add_memory(op.forward, "router_scale", kScaleForward * elements);
  if (runs_backward(s)) add_memory(op.backward, "router_scale", kScaleBackward * elements, Pass::dgrad);
  add_host(op.forward, 1, kScaleLaunches);
  add_host(op.backward, 1, 2 * kScaleLaunches);
  drop_with_layer(op);
  return op;
}

}  // namespace

void append_input_norms(const MoeMlpSpec& spec, const MoeSizes& z, const Shapes& s, OpList& ops) {
  // Outside the part of the layer that recompute runs again, as the layer's pre-MLP norm.
  if (spec.shared_expert)
    ops.push_back(inner_norm("pre_shared_expert_norm", s, NormOutput::one_linear, {LinearModule::linear_fc1}));
  ops.push_back(router_norm(z, s));
}

void append_output_norms(const MoeMlpSpec& spec, const Shapes& s, OpList& ops) {
  for (const char* name : {"post_moe_norm", "post_shared_expert_norm"}) {
    if (!spec.shared_expert && std::string_view(name) != "post_moe_norm") continue;
    ops.push_back(inner_norm(name, s, NormOutput::not_kept));
    drop_with_layer(ops.back());
  }
}

}  // namespace shardfit::block
