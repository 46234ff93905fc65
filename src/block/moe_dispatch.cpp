// SPDX-License-Identifier: Apache-2.0
// Computes:   how tokens reach the experts of other ranks and come back: traffic, permutation, buffers.
// Formula:    traffic. alltoall: T*k rows over EP without de-duplication, then a gather (before) and a reduce-scatter
//             (after) of the rows over ETP. DeepEP and HybridEP: each token once per destination rank of the ep*etp group,
//             k*etp picks. allgather: every rank gets all T*G tokens. Backward runs the opposite exchange. permutation,
//             over a forward or a backward: reads T rows and writes T*k, its inverse reads T*k and writes T; where a rank
//             has several experts, chunks of the A rows received are sorted, and sorted back. Kernels that are not fused
//             read a row for each copy. DeepEP and HybridEP fuse most of it: 4*T*(min(hits, k) + k) B a width. Quantised
//             rows behind alltoall are padded and unpadded, 8 B an element of the A rows more. Rows, so traffic and
//             permutation too, grow with the busiest rank's load.
// Source:     Megatron-LM core/transformer/moe/token_dispatcher.py, fused_a2a.py, moe_utils.py:permute; Transformer Engine
//             common/triton/permutation.py (_permute_kernel, _unpermute_kernel, _sort_chunks_by_map_kernel).
// Valid when: tokens are brought in bf16 (Megatron quantises after dispatch).
// Ignores:    alltoall's probabilities (4 B a row) and token counts on the wire, the allgather dispatcher's copies of the
//             routing map.
// Checked by: tests/block/moe_test.cpp.
#include <algorithm>

#include "block/linear.hpp"
#include "block/moe_parts.hpp"

namespace shardfit::block {
namespace {

constexpr double kReadAndWrite = 2, kThereAndBack = 2;

// Calls and launches beside the lists' (kind: counted in token_dispatcher.py, moe_utils.py, fused_a2a.py and Transformer
// Engine pytorch/permutation.py). A library: dispatcher, function, buffer; its metadata, prefix sum and barriers. alltoall:
// row maps in three passes and the chunks' own, tokens and probabilities apart, chunks sorted.
struct ExchangeHost {
  double calls, launches;
};
constexpr ExchangeHost kLibraryDispatch{4, 4}, kLibraryCombine{4, 2}, kLibraryBackward{3, 2};
constexpr ExchangeHost kAlltoallDispatch{7, 8}, kAlltoallCombine{5, 2}, kAlltoallBackward{5, 3};
constexpr ExchangeHost kLocalDispatch{3, 4}, kLocalCombine{2, 1}, kLocalBackward{2, 1};
constexpr double kHalf = 0.5;

constexpr EnumSet<RecomputeModule> kDroppedByMoe{RecomputeModule::moe};

bool fuses_permutation(const Shapes& s) { return s.dispatcher == Dispatcher::deepep || s.dispatcher == Dispatcher::hybridep; }

double load_of(const MoeSizes& z) { return z.rows > 0 ? z.busy_rows / z.rows : 1; }

/// With HybridEP a token brings its row of routing probabilities, fp32, one for every expert of the NVLink domain that it
/// goes to, and its gradient comes back with the token's. DeepEP sends the chosen ones only (12 B each: left out).
/// Source: deepseek-ai/DeepEP hybrid-ep branch, csrc/hybrid_ep/backend/hybrid_ep_backend.cuh.
double probability_row_bytes(const MoeSizes& z, const Shapes& s) {
  constexpr double kFp32 = 4;
  return s.dispatcher == Dispatcher::hybridep ? kFp32 * double(z.num_experts) * s.etp * s.domain_share : 0;
}

Traffic token_exchange(CollectiveKind kind, bool with_probabilities, const MoeSizes& z, const Shapes& s) {
  const bool per_rank = fuses_permutation(s);
  Traffic t;
  t.name = kind == CollectiveKind::dispatch ? "dispatch" : "combine";
  t.group = per_rank ? Group::tp_ep : Group::ep;
  t.kind = kind;
  t.hides = Hides::expert_overlap;
  t.tokens = z.tokens * load_of(z);
  t.width_bytes = double(z.inner) * s.e + (with_probabilities ? probability_row_bytes(z, s) : 0);
  t.top_k = z.top_k;
  t.replicas = per_rank ? s.etp : 1;
  t.bytes = t.tokens * t.top_k * t.replicas * t.width_bytes;
  t.num_experts = int(z.num_experts);
  t.limit = z.limit;
  return t;
}

Traffic gather_like(const char* name, Group group, CollectiveKind kind, double bytes) {
  Traffic t;
  t.name = name;
  t.group = group;
  t.kind = kind;
  t.bytes = bytes;
  t.hides = Hides::expert_overlap;
  return t;
}

/// Traffic of one direction: tokens to experts (`dispatch`) or back. Probabilities go with the tokens of a dispatch, and
/// their gradients with those of its backward.
void add_exchange(Work& work, bool to_experts, bool of_dispatch, const MoeSizes& z, const Shapes& s) {
  if (z.group == 1) return;
  const CollectiveKind grow = to_experts ? CollectiveKind::all_gather : CollectiveKind::reduce_scatter;
  if (s.dispatcher == Dispatcher::allgather) {
    const double all = z.tokens * z.group * double(z.inner) * s.e;
    work.traffic.push_back(gather_like(to_experts ? "dispatch" : "combine", Group::tp_ep, grow, all));
    return;
  }
  const CollectiveKind kind = to_experts ? CollectiveKind::dispatch : CollectiveKind::combine;
  if (s.ep > 1 || fuses_permutation(s)) work.traffic.push_back(token_exchange(kind, of_dispatch, z, s));
  if (s.etp > 1 && !fuses_permutation(s))
    work.traffic.push_back(gather_like("expert_rows", Group::etp, grow, z.busy_rows * double(z.inner) * s.e));
}

/// Passes over the received rows that pad each expert's rows to the multiple that quantised GEMMs need, and take the
/// padding out again. The expert libraries pad while they permute; rows of a fixed capacity need none. Source: Megatron-LM
/// core/transformer/moe/experts.py:skip_routed_expert_padding, Transformer Engine Fp8Padding.
double padding_passes(const MoeSizes& z, const Shapes& s) {
  return is_quantized(s.precision) && !fuses_permutation(s) && !z.fixed_rows ? 2 : 0;
}

/// Bytes that the permutation kernels of one pass (forward or backward) move.
double permute_bytes(const MoeSizes& z, const Shapes& s) {
  const double element = double(z.inner) * s.e;
  const double sent = z.tokens * z.top_k;
  const double padding = padding_passes(z, s) * kReadAndWrite * z.busy_rows * element;
  const double permuted = kThereAndBack * (sent + (s.permute_fusion ? z.tokens : sent)) * element;
  const double sorted = z.local_experts > 1 ? kThereAndBack * kReadAndWrite * z.busy_rows * element : 0;
  // The alltoall dispatcher sorts chunks on a single rank too; rows of fixed capacity lie in order there.
  if (z.group == 1) return permuted + (s.dispatcher == Dispatcher::alltoall && !z.fixed_rows ? sorted : 0) + padding;
  if (!fuses_permutation(s)) return permuted + sorted + padding;
  const double hits = std::min(rank_hits(z, s), double(z.top_k) * s.etp);
  return kReadAndWrite * z.tokens * load_of(z) * (hits + double(z.top_k) * s.etp) * element;
}

void add_permute(Work& work, Pass pass, const MoeSizes& z, const Shapes& s) {
  Kernel kernel;
  kernel.name = "permute";
  kernel.kind = KernelKind::permute;
  kernel.pass = pass;
  kernel.bytes = permute_bytes(z, s) * kHalf;
  work.kernels.push_back(kernel);
}

void add_dispatch_host(Op& op, bool to_experts, const MoeSizes& z, const Shapes& s) {
  const bool local = z.group == 1, library = fuses_permutation(s);
  const ExchangeHost forward = to_experts ? (local     ? kLocalDispatch
                                             : library ? kLibraryDispatch
                                                       : kAlltoallDispatch)
                                          : (local     ? kLocalCombine
                                             : library ? kLibraryCombine
                                                       : kAlltoallCombine);
  const ExchangeHost backward = local ? kLocalBackward : library ? kLibraryBackward : kAlltoallBackward;
  const double padding = padding_passes(z, s) * kHalf;  // one of the two passes
  add_host(op.forward, forward.calls + padding, forward.launches + padding);
  if (runs_backward(s)) add_host(op.backward, backward.calls + padding, backward.launches + padding);
}

Op exchange_op(bool to_experts, const MoeSizes& z, const Shapes& s) {
  Op op;
  op.name = to_experts ? "dispatch" : "combine";
  op.view = to_experts ? View::dispatch : View::combine;
  op.recomputed_by = kDroppedByMoe;
  op.scope = GraphScope::moe;
  add_permute(op.forward, Pass::forward, z, s);
  add_exchange(op.forward, to_experts, to_experts, z, s);
  add_dispatch_host(op, to_experts, z, s);
  if (!runs_backward(s)) return op;
  add_permute(op.backward, Pass::dgrad, z, s);
  add_exchange(op.backward, !to_experts, to_experts, z, s);
  return op;
}

/// Torch buffers of the exchange beside the kept expert input: what is sent, what arrives, before it is
/// sorted.
Transient exchange_buffers(const char* name, const MoeSizes& z, const Shapes& s) {
  const double element = double(z.inner) * s.e;
  const Bytes sent = tensor_bytes(z.tokens * z.top_k, element, 1);
  const Bytes rows = tensor_bytes(z.rows, element, 1), none{};
  if (z.group == 1) return {name, none, Moment::forward, none};
  switch (s.dispatcher) {
    case Dispatcher::hybridep: return {name, none, Moment::forward, none};  // buffers outside torch
    case Dispatcher::deepep: {
      const Bytes received = tensor_bytes(z.tokens * rank_hits(z, s), element, 1);
      return {name, received, Moment::forward, received};
    }
    case Dispatcher::allgather: return {name, tensor_bytes(z.tokens * z.group, element, 1), Moment::forward, none};
    default: break;
  }
  const Bytes sorted = z.local_experts > 1 ? rows : none;
  return {name, sent + sorted, Moment::forward, z.fixed_rows ? none : sorted};
}

}  // namespace

Op dispatch_op(const MoeSizes& z, const Shapes& s) {
  Op op = exchange_op(true, z, s);
  // The host reads how many rows arrive, unless they are padded to capacity or their number is known
  // beforehand.
  if (!s.drop_and_pad && !s.host_free_dispatch) op.forward.host.syncs = 1;
  const Transient buffers = exchange_buffers("send_and_receive", z, s);
  if (buffers.bytes.value > 0) op.transients.push_back(buffers);
  return op;
}

Op combine_op(const MoeSizes& z, const Shapes& s) {
  Op op = exchange_op(false, z, s);
  Transient buffers = exchange_buffers("fc2_out_send_and_receive", z, s);
  const Bytes fc2_out = tensor_bytes(z.rows, double(z.inner), s.e);
  buffers.bytes += fc2_out;
  if (!z.fixed_rows) buffers.routed += fc2_out;
  op.transients.push_back(buffers);
  return op;
}

}  // namespace shardfit::block
