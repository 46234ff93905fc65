// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "block/blocks.hpp"
#include "mixer_fixture.hpp"
#include "op_sums.hpp"

using namespace shardfit;
using namespace shardfit::block;

namespace {

constexpr std::int64_t kVocab = 131072;

Shapes shapes(CrossEntropy loss, int tp = 1) {
  Shapes s = shapes_of(4096, 4096, tp);
  s.vocab = kVocab;
  s.cross_entropy = loss;
  return s;
}

std::int64_t loss_bytes(const OpList& ops, Moment moment) {
  std::int64_t sum = 0;
  for (const Transient& t : ops.back().transients)
    if (t.moment == moment) sum += t.bytes.value;
  return sum;
}

double calls(const OpList& ops) {
  double sum = 0;
  for (const Traffic& t : ops.back().forward.traffic) sum += t.calls;
  return sum;
}

}  // namespace

TEST_CASE("bytes a logit: 6 plain, 10 with the native fused loss, 2 with Transformer Engine's") {
  const std::int64_t logits = 4096 * kVocab;
  CHECK(loss_bytes(head(TextSpec{}, shapes(CrossEntropy::unfused), true), Moment::forward) == 6 * logits);
  CHECK(loss_bytes(head(TextSpec{}, shapes(CrossEntropy::native_fused), true), Moment::forward) == 10 * logits);
  CHECK(loss_bytes(head(TextSpec{}, shapes(CrossEntropy::te_fused), true), Moment::forward) == 2 * logits);
  CHECK(loss_bytes(head(TextSpec{}, shapes(CrossEntropy::te_fused, 4), true), Moment::forward) == 2 * logits / 4);
  Shapes fp32 = shapes(CrossEntropy::unfused);
  fp32.precision = Precision::fp32;
  fp32.e = 4;
  CHECK(loss_bytes(head(TextSpec{}, fp32, true), Moment::forward) == 8 * logits);
}

TEST_CASE("a loss in single torch operations holds two fp32 buffers forward and three backward") {
  Shapes s = shapes(CrossEntropy::unfused);
  s.eager_loss = true;
  const OpList ops = head(TextSpec{}, s, true);
  CHECK(loss_bytes(ops, Moment::forward) == 10LL * 4096 * kVocab);
  CHECK(loss_bytes(ops, Moment::backward) == 14LL * 4096 * kVocab);
}

TEST_CASE("bytes that a loss moves for a logit, forward and backward, by hand") {
  const auto moved = [](const Shapes& s, bool forward) {
    const OpList ops = head(TextSpec{}, s, true);
    double sum = 0;
    for (const Kernel& k : (forward ? ops.back().forward : ops.back().backward).kernels) sum += k.bytes;
    return sum / (4096.0 * kVocab);
  };
  const Shapes plain = shapes(CrossEntropy::unfused), native = shapes(CrossEntropy::native_fused),
               te = shapes(CrossEntropy::te_fused);
  CHECK(moved(plain, true) == 6 + 4 + 8 + 8 + 4 + 8);
  CHECK(moved(plain, false) == 8 + 6);
  CHECK(moved(native, true) == 6 + 8 + 8);
  CHECK(moved(native, false) == 8 + 2);
  CHECK(moved(te, true) == 2 + 4);
  CHECK(moved(te, false) == 4);
  Shapes torch = plain;
  torch.eager_loss = true;
  CHECK(moved(torch, true) == 6 + 16);
  CHECK(moved(torch, false) == 4 + 16 + 6);
  Shapes wide = plain;  // nothing to cast
  wide.precision = Precision::fp32;
  wide.e = 4;
  CHECK(moved(wide, true) == 32);
  CHECK(moved(wide, false) == 8);
}

TEST_CASE("since Transformer Engine 2.18 the fused loss keeps an fp32 gradient, not the logits, and casts it in backward") {
  Shapes s = shapes(CrossEntropy::te_fused);
  s.te_fp32_loss_gradient = true;
  const OpList ops = head(TextSpec{}, s, true);
  const std::int64_t logits = 4096 * kVocab;
  CHECK(loss_bytes(ops, Moment::forward) == 6 * logits);
  CHECK(loss_bytes(ops, Moment::backward) == 6 * logits);
  double forward = 0, backward = 0;
  for (const Kernel& k : ops.back().forward.kernels) forward += k.bytes;
  for (const Kernel& k : ops.back().backward.kernels) backward += k.bytes;
  CHECK(forward == 8.0 * double(logits));        // logits read twice, fp32 gradient written
  CHECK(backward == 14.0 * double(logits));      // scaled in place, cast
  s.cross_entropy = CrossEntropy::native_fused;  // not its kernel
  CHECK(loss_bytes(head(TextSpec{}, s, true), Moment::forward) == 10 * logits);
}

TEST_CASE("a chunked loss never holds the logits") {
  Shapes s = shapes(CrossEntropy::native_fused);
  s.chunked_cross_entropy = true;
  const OpList ops = head(TextSpec{}, s, true);
  CHECK(loss_bytes(ops, Moment::forward) == 4096LL * 2 * 43 * 4);  // ceil(131072 / 3072) = 43 partials
  CHECK(loss_bytes(ops, Moment::backward) == 4096LL * 3072 * 2 + 4096LL * 4096 * 4 + kVocab * 4096 * 2);
  // and makes the logits again: backward runs three GEMMs of the forward's size.
  CHECK(gemm_flops(ops, Pass::dgrad) == 2 * gemm_flops(ops, Pass::forward));
}

TEST_CASE("the final norm keeps its input and output") {
  const OpList ops = head(TextSpec{}, shapes(CrossEntropy::te_fused), true);
  CHECK(saved_bytes(ops, "final_norm_in") == 32 * kMiB);
  CHECK(saved_bytes(ops, "final_norm_out") == 32 * kMiB);
  CHECK(saved_bytes(ops) == 64 * kMiB + 4096 * 4);
}

TEST_CASE("a head without a weight of its own still multiplies by one") {
  const OpList tied = head(TextSpec{}, shapes(CrossEntropy::te_fused), false);
  CHECK(elements(tied, ParamGroup::lm_head) == 0);
  CHECK(gemm_flops(tied, Pass::wgrad) == 2.0 * 4096 * 4096 * kVocab);
  const OpList own = head(TextSpec{}, shapes(CrossEntropy::te_fused), true);
  CHECK(elements(own, ParamGroup::lm_head) == 4096 * kVocab);
}

TEST_CASE("loss reductions over tp: three plain, two fused") {
  CHECK(calls(head(TextSpec{}, shapes(CrossEntropy::unfused, 4), true)) == 3);
  CHECK(calls(head(TextSpec{}, shapes(CrossEntropy::te_fused, 4), true)) == 2);
  CHECK(calls(head(TextSpec{}, shapes(CrossEntropy::unfused, 1), true)) == 0);
}

TEST_CASE("the head stays in bf16 in a quantised job") {
  Shapes s = shapes(CrossEntropy::te_fused);
  s.precision = s.run_precision = Precision::mxfp8;
  const OpList ops = head(TextSpec{}, s, true);
  CHECK(moved_bytes(ops, KernelKind::quantize, false) == 0);
  CHECK(saved_bytes(ops, "final_norm_out") == 32 * kMiB);
  for (const Op& op : ops)
    for (const Weight& w : op.weights) CHECK_FALSE(w.linear);
}

TEST_CASE("a reward model has a score in place of logits, an embedding model neither") {
  Shapes s = shapes(CrossEntropy::unfused, 2);
  const std::int64_t whole = elements(head(TextSpec{}, s, true), ParamGroup::lm_head);
  CHECK(whole == kVocab / 2 * 4096);
  s.task_type = TaskType::seq_cls;
  CHECK(elements(head(TextSpec{}, s, true), ParamGroup::lm_head) == 4096);
  CHECK(loss_bytes(head(TextSpec{}, s, true), Moment::forward) == 0);
  s.task_type = TaskType::embedding;
  CHECK(elements(head(TextSpec{}, s, true), ParamGroup::lm_head) == 0);
  CHECK(saved_bytes(head(TextSpec{}, s, true), "final_norm_in") > 0);
}

TEST_CASE("hyper-connections are joined before the final norm") {
  TextSpec text;
  Shapes s = shapes(CrossEntropy::te_fused);
  s.residual_streams = 4;
  const OpList ops = head(text, s, true);
  CHECK(elements(ops, ParamGroup::hyper_connections) == 4LL * 4 * 4096 + 4 + 1);
}

TEST_CASE("a backward written with a one-hot holds two int64 of a logit beside the softmax and the half-precision logit") {
  Shapes s = shapes(CrossEntropy::unfused, 4);
  s.eager_loss = s.one_hot_loss = true;
  CHECK(loss_bytes(head(TextSpec{}, s, true), Moment::backward) == 22LL * 4096 * kVocab / 4);
}
