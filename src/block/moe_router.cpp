// SPDX-License-Identifier: Apache-2.0
// Computes:   the router of an MoE layer, the dispatcher's preprocessing, and the latent projections.
// Formula:    router GEMM [T, E] with fp32 output, backward in TF32 after casts to fp32; the gradients of the input's
//             readers added up, 6 B an element each; 9 B kept for each token and expert, the permutation's index map
//             included (two int32 and a mask byte, or fp32 scores instead: the sum is what was measured); 31 B moved fused,
//             126 B unfused, forward. HybridEP works on the routing map of its whole group: 3*T*G*E B. The expert libraries
//             keep maps of their own: DeepEP 4*recv*(2*El+1) B, HybridEP's handle 4*T*E*etp for rows and T*E for the map.
// Source:     Megatron-LM core/transformer/moe/{router,token_dispatcher,fused_a2a}.py, Transformer Engine permutation.py; 9
//             B met the measured peaks of four alltoall runs (SimuMax, B200) within 34 MiB.
// Valid when: the router computes in fp32 (every shipped recipe).
// Ignores:    auxiliary losses, z-loss, the all-reduce of the routing correction bias (once a step).
// Checked by: tests/block/moe_test.cpp.
#include "block/linear.hpp"
#include "block/moe_parts.hpp"

namespace shardfit::block {
namespace {

constexpr double kKeptPerScore = 9;  ///< B, measured
// B moved for a token and expert (kind: counted). Fused, twice (top-k, the auxiliary loss's scores): fp32 logits in, scores
// and a copy for backward out, a byte of the map; the loss reads its scores once more. In single operations: score function
// (8), bias (8), top-k in four passes (16), weights cleared, cloned and scattered (12), the map cleared, cast to int, cloned,
// cast to bool (21); the same without bias and weights for the auxiliary loss, its normalisation (12) and mean (4).
// Source: Transformer Engine common/fused_router, Megatron-LM core/transformer/moe/moe_utils.py.
constexpr double kFusedForward = 31, kFusedBackward = 30, kUnfusedForward = 126, kUnfusedBackward = 40;
constexpr double kFp32 = 4;
constexpr double kTf32Passes = 2;  ///< TF32 has half the rate of bf16 and twice its bytes. Datasheet
/// Backward runs in TF32: the input is cast to fp32 (2 read, 4 written), the fp32 gradient back to bf16. Counted.
constexpr double kRouterCastBytes = 12;
constexpr double kMapBytesPerScore = 3;  ///< HybridEP: read, expand, write one byte (counted)

// Calls and launches beside the lists' (kind: counted in moe_layer.py, router.py, moe_utils.py, token_dispatcher.py).
// Router: layer, routing, top-k, the auxiliary loss's scores, itself, its scaler and tracker; its sums and the weight's cast
// are launches, in single operations softmax, top-k, division and scatters twice over too.
constexpr double kRouterForwardCalls = 8, kRouterFusedLaunches = 8, kRouterUnfusedLaunches = 21;
constexpr double kRouterBackwardCalls = 4, kRouterBackwardLaunches = 5;
// Preprocessing: alltoall sums, gathers and splits counts and copies them to the host; the libraries reshape the map.
constexpr double kAlltoallPreprocessCalls = 5, kAlltoallPreprocessLaunches = 12;
constexpr double kLibraryPreprocessCalls = 3, kLibraryPreprocessLaunches = 4;

constexpr EnumSet<RecomputeModule> kDroppedByMoe{RecomputeModule::moe};

void add_correction_bias(Op& op, const MoeSizes& z) {
  Weight w;
  w.name = "correction_bias";
  w.group = ParamGroup::router_correction_bias;
  w.rows = z.num_experts;
  w.fp32 = true;
  w.buffer = true;
  w.trainable = false;
  op.weights.push_back(w);
}

/// Maps that the expert libraries keep to undo the dispatch in backward.
Bytes map_bytes(const MoeSizes& z, const Shapes& s) {
  constexpr double kIndex = sizeof(std::int32_t);
  const double experts = double(z.num_experts), local = double(z.local_experts);
  switch (s.dispatcher) {
    case Dispatcher::hybridep: return tensor_bytes(z.tokens, experts * s.etp, kIndex) + tensor_bytes(z.tokens, experts, 1);
    case Dispatcher::deepep: return tensor_bytes(z.tokens * rank_hits(z, s), 2 * local + 1, kIndex);
    default: return Bytes{};  // measured with the router's
  }
}

/// Forward reads bf16 and writes fp32 logits; backward casts its operands to fp32 and multiplies them in TF32. Source:
/// Megatron-LM core/transformer/moe/moe_utils.py:RouterGatingLinearFunction.
void run_router_in_fp32(Op& op, const Shapes& s) {
  for (Kernel& kernel : op.forward.kernels) kernel.out_bytes = kFp32;
  for (Kernel& kernel : op.backward.kernels) kernel.groups = kTf32Passes;
  const double elements = double(s.stream_tokens) * double(s.hidden);
  if (runs_backward(s)) add_memory(op.backward, "router_casts", kRouterCastBytes * elements, Pass::dgrad);
}

/// Readers of the layer's input beside the first: their gradients are added to its gradient one by one.
void add_gradient_sums(Op& op, const MoeMlpSpec& spec, const Shapes& s) {
  const int more_readers = 1 + (spec.shared_expert ? 1 : 0);  // dispatch (or the latent projection), shared expert
  const double elements = double(s.stream_tokens) * double(s.hidden);
  add_memory(op.backward, "input_gradient_sums", kSumBytes * more_readers * elements, Pass::dgrad);
}

Op latent_op(const char* name, LinearModule module, const MoeSizes& z, const Shapes& s, std::int64_t out, std::int64_t in) {
  Op op;
  op.name = name;
  op.view = View::latent;
  op.recomputed_by = kDroppedByMoe;
  Linear linear;
  linear.name = name;
  linear.group = ParamGroup::latent_projection;
  linear.tokens = z.tokens;
  linear.out = out;
  linear.in = in;
  linear.split = Split::replicated;
  linear.adapter = module;
  add_linear(op, linear, s);
  return op;
}

}  // namespace

Op router_op(const MoeMlpSpec& spec, const MoeSizes& z, const Shapes& s) {
  Op op;
  op.name = "router";
  op.view = View::router;
  op.recomputed_by = kDroppedByMoe;
  op.scope = GraphScope::moe_router;
  Linear linear;
  linear.name = "router";
  linear.group = ParamGroup::router;
  linear.tokens = z.tokens;
  linear.out = z.num_experts;
  linear.in = s.hidden;
  linear.split = Split::replicated;
  linear.bias = spec.router.bias;
  linear.quantized = false;
  add_linear(op, linear, s);
  run_router_in_fp32(op, s);
  if (spec.router.correction_bias) add_correction_bias(op, z);
  const double scores = z.tokens * double(z.num_experts);
  add_memory(op.forward, "scores_and_topk", scores * (s.router_fusion ? kFusedForward : kUnfusedForward));
  add_host(op.forward, kRouterForwardCalls, s.router_fusion ? kRouterFusedLaunches : kRouterUnfusedLaunches);
  keep(op, s, "router_scores", tensor_bytes(scores, 1, kKeptPerScore), kDroppedByMoe);
  if (!runs_backward(s)) return op;
  add_memory(op.backward, "scores_and_topk", scores * (s.router_fusion ? kFusedBackward : kUnfusedBackward), Pass::dgrad);
  add_gradient_sums(op, spec, s);
  add_host(op.backward, kRouterBackwardCalls, kRouterBackwardLaunches);
  return op;
}

Op preprocess_op(const MoeSizes& z, const Shapes& s) {
  Op op;
  op.name = "preprocess";
  op.view = View::dispatch;
  op.recomputed_by = kDroppedByMoe;
  op.scope = GraphScope::moe_preprocess;
  const bool library = s.dispatcher == Dispatcher::hybridep || s.dispatcher == Dispatcher::deepep;
  if (library)
    add_host(op.forward, kLibraryPreprocessCalls, kLibraryPreprocessLaunches);
  else
    add_host(op.forward, kAlltoallPreprocessCalls, kAlltoallPreprocessLaunches);
  keep(op, s, "dispatch_maps", map_bytes(z, s), kDroppedByMoe);
  if (s.dispatcher == Dispatcher::hybridep && z.group > 1) {
    const double map = z.tokens * z.group * double(z.num_experts);
    add_memory(op.forward, "routing_map", kMapBytesPerScore * map);
    Traffic gather;
    gather.name = "routing_map";
    gather.group = Group::tp_ep;
    gather.kind = CollectiveKind::all_gather;
    gather.bytes = map;
    gather.hides = Hides::expert_overlap;
    op.forward.traffic.push_back(gather);
  }
  return op;
}

Op latent_down_op(const MoeSizes& z, const Shapes& s) {
  Op op = latent_op("latent_down", LinearModule::fc1_latent_proj, z, s, z.inner, s.hidden);
  op.scope = GraphScope::moe_router;
  // In bf16 the input is the pre-MLP norm's output, which is kept already.
  if (is_quantized(of_module(s, LinearModule::fc1_latent_proj).precision))
    keep_linear_input(op, s, "latent_down_in", z.tokens, double(s.hidden), kDroppedByMoe, {}, {LinearModule::fc1_latent_proj});
  return op;
}

Op latent_up_op(const MoeSizes& z, const Shapes& s) {
  Shapes inner = s;  // the experts' output needs a gradient wherever they or anything before them train
  inner.needs_input_grad = runs_backward(s);
  Op op = latent_op("latent_up", LinearModule::fc2_latent_proj, z, inner, s.hidden, z.inner);
  keep_linear_input(op, s, "latent_up_in", z.tokens, double(z.inner), kDroppedByMoe, {}, {LinearModule::fc2_latent_proj});
  return op;
}

}  // namespace shardfit::block
