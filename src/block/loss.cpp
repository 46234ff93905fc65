// SPDX-License-Identifier: Apache-2.0
// Computes:   the cross-entropy of logits.
// Formula:    logits live from the projection to the start of their backward: e + 4 B each (half-precision logits and one
//             fp32 buffer that exp, softmax and gradient reuse), e + 8 with Megatron's native fused loss, e with
//             Transformer Engine's, up to e + 12 in single torch operations. Since Transformer Engine 2.18 its gradient is
//             an fp32 tensor beside the logits, which autograd casts to their type: forward e + 4, kept 4, backward 4 + e.
//             The kernel that fuses projection and loss never holds them whole: forward two fp32 partials a token and 3072
//             columns, backward [N, 3072] gradients, an fp32 input gradient, a whole weight gradient, and the projection
//             again. A soft cap of the logits keeps its tanh, e.
//             Moved, B a logit at e = 2, forward and backward: 38 and 14 in Megatron's single operations, 22 and 10 with
//             its native fused loss, 6 and 4 with Transformer Engine's (8 and 14 since 2.18), 22 and 26 with torch's own.
// Source:     Megatron-LM core/tensor_parallel/cross_entropy.py, core/fusions/{fused_cross_entropy,linear_cross_entropy}*,
//             Transformer Engine common/triton/cross_entropy.py (moved bytes: counted, kernel by kernel); held bytes per
//             logit fit measured peaks of dense models within 0.1 % (median).
// Valid when: the vocabulary is padded to a multiple of tp.
// Ignores:    the mask and loss scalars.
// Checked by: tests/block/head_test.cpp, moe_norms_test.cpp (soft cap).
#include <cmath>

#include "block/edge_parts.hpp"
#include "block/linear.hpp"

namespace shardfit::block {
namespace {

constexpr double kFp32 = 4;
constexpr double kNativeBuffers = 2;  ///< fp32 buffers of the native fused loss, measured
/// Of a loss in single torch operations: the fp32 logits and their log-softmax; in backward the log-softmax, its
/// gradient and the one of the logits, while the half-precision logits are still an output of the model. Kind: counted.
constexpr double kEagerForwardBuffers = 2, kEagerBackwardBuffers = 3;
/// Of a loss whose backward is written with a one-hot: the kept softmax, the one-hot and its product with the mask, both
/// int64. Source: NeMo-RL distributed/model_utils.py:DistributedLogprob before its c594dfa4a. Kind: counted.
constexpr double kOneHotBackward = kFp32 + 8 + 8;
constexpr double kChunkColumns = 3072;  ///< columns a split (Megatron-LM fusions/linear_cross_entropy: 512 * 6)
constexpr double kPlainReductions = 3, kFusedReductions = 2;  ///< all-reduces of [N] fp32 over tp
// Calls and launches beside the lists' (kind: counted as head.cpp's): the loss, its mask, sum and average.
constexpr double kLossCalls = 3, kLossLaunches = 6, kLossBackward = 3;

double columns(const Shapes& s) { return double(s.vocab / s.tp); }
double logits(const Shapes& s) { return double(s.tokens) * columns(s); }

/// Bytes a logit beside the half-precision one, and which of them an MTP depth keeps.
double extra_bytes(const Shapes& s) {
  if (s.eager_loss) return kEagerForwardBuffers * kFp32;
  if (s.cross_entropy == CrossEntropy::te_fused) return s.te_fp32_loss_gradient ? kFp32 : 0;
  return s.cross_entropy == CrossEntropy::native_fused ? kNativeBuffers * kFp32 : kFp32;
}

double kept_softmax_bytes(const Shapes& s) {
  return s.cross_entropy == CrossEntropy::te_fused && !s.te_fp32_loss_gradient ? s.e : kFp32;
}

void add_whole_logits(Op& op, const LossUse& use, const Shapes& s) {
  const double kept = use.softmax_kept ? kept_softmax_bytes(s) : 0;
  if (kept > 0) keep(op, s, "softmax", tensor_bytes(logits(s), 1, kept));
  const double forward = s.e + extra_bytes(s) - kept;
  if (forward > 0) op.transients.push_back({"logits", tensor_bytes(logits(s), 1, forward), Moment::forward, {}});
  // Backward starts from the softmax: its buffer becomes the gradient, cast for the projection's GEMMs.
  const double buffers = (s.eager_loss ? kEagerBackwardBuffers : 1) * kFp32;
  const bool in_place = s.cross_entropy == CrossEntropy::te_fused && !s.te_fp32_loss_gradient;
  const double backward = in_place ? s.e : s.e + (s.one_hot_loss ? kOneHotBackward : buffers);
  if (runs_backward(s) && backward > kept)
    op.transients.push_back({"logit_gradients", tensor_bytes(logits(s), 1, backward - kept), Moment::backward, {}});
}

void add_chunked_logits(Op& op, const Shapes& s) {
  const double rows = double(s.tokens), splits = std::ceil(columns(s) / kChunkColumns);
  op.transients.push_back({"loss_partials", tensor_bytes(rows, 2 * splits, kFp32), Moment::forward, {}});
  keep(op, s, "loss_statistics", tensor_bytes(rows, 2, kFp32));
  if (!runs_backward(s)) return;
  Bytes backward = tensor_bytes(rows, kChunkColumns, s.e) + tensor_bytes(rows, double(s.hidden), kFp32);
  if (trains_base(s)) backward += tensor_bytes(columns(s), double(s.hidden), s.e);
  op.transients.push_back({"logit_gradient_chunk", backward, Moment::backward, {}});
}

/// Bytes that the loss moves for a logit.
struct LossBytes {
  double forward, backward;
};

/// Kind: counted. A pass reads or writes the logits once, in fp32 (w) or as the model has them (e).
LossBytes loss_bytes(const Shapes& s) {
  const double e = s.e, w = kFp32;
  const double cast = e < w ? e + w : 0;  // to fp32 or back
  // log_softmax reads a row three times (maximum, sum, result); backward fills and reads the gradient, reads it with the
  // result and writes. Source: ATen native/cuda/SoftMax.cu for rows beyond shared memory.
  if (s.eager_loss) return {cast + 3 * w + w, w + w + 3 * w + cast};
  switch (s.cross_entropy) {
    // Two kernels read the logits; the second writes the gradient in their place, which backward scales. One in fp32 has a
    // place of its own, and autograd casts it to the type of the logits (pytorch/triton/cross_entropy.py of 2.18).
    case CrossEntropy::te_fused:
      if (s.te_fp32_loss_gradient) return {e + e + w, w + w + cast};
      return {e + e + e, e + e};
    // Compiled: cast with the maximum; difference and exponential with the sum; quotient. Backward: scatter and product
    // write the softmax's buffer and the cast gradient.
    case CrossEntropy::native_fused: return {(cast > 0 ? cast : w) + 2 * w + 2 * w, 2 * w + e};
    // Cast, maximum, difference, exponential, sum, quotient; product and, by autograd, the cast back.
    default: return {cast + w + 2 * w + 2 * w + w + 2 * w, 2 * w + cast};
  }
}

/// Logits through a tanh, in three operations: its result is kept beside the logits of the loss. Source: Megatron-Bridge
/// models/gemma/modeling_gemma4.py:_logit_softcapping; Hugging Face's Gemma has the same line.
void add_softcapping(Op& op, const Shapes& s) {
  constexpr double kOperations = 3, kBackwardReads = 1;  // quotient, tanh, product; tanh's gradient reads its result
  keep(op, s, "capped_logits", tensor_bytes(logits(s), 1, s.e));
  add_memory(op.forward, "softcapping", kOperations * 2 * logits(s) * s.e);
  if (runs_backward(s))
    add_memory(op.backward, "softcapping", (2 * kOperations + kBackwardReads) * logits(s) * s.e, Pass::dgrad);
  add_host(op.forward, 0, kOperations);
  if (runs_backward(s)) add_host(op.backward, 0, kOperations);
}

}  // namespace

Op loss_op(const LossUse& use, const Shapes& s) {
  Op op;
  op.name = "cross_entropy";
  op.view = use.view;
  const bool fused = s.cross_entropy != CrossEntropy::unfused;
  if (s.chunked_cross_entropy) {
    add_chunked_logits(op, s);
  } else {
    add_whole_logits(op, use, s);
    if (s.final_logit_softcapping) add_softcapping(op, s);
    const LossBytes moved = loss_bytes(s);
    add_memory(op.forward, "cross_entropy", logits(s) * moved.forward);
    if (runs_backward(s)) add_memory(op.backward, "cross_entropy", logits(s) * moved.backward, Pass::dgrad);
  }
  if (s.tp > 1) {
    Traffic reduction;
    reduction.name = "cross_entropy";
    reduction.kind = CollectiveKind::all_reduce;
    reduction.bytes = double(s.tokens) * kFp32;
    reduction.calls = fused ? kFusedReductions : kPlainReductions;
    op.forward.traffic.push_back(reduction);
  }
  add_host(op.forward, kLossCalls, kLossLaunches);
  if (runs_backward(s)) add_host(op.backward, kLossBackward, kLossBackward);
  return op;
}

}  // namespace shardfit::block
