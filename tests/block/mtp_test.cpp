// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "block/blocks.hpp"
#include "mixer_fixture.hpp"
#include "op_sums.hpp"

using namespace shardfit;
using namespace shardfit::block;

namespace {

constexpr std::int64_t kVocab = 131072;

TextSpec text_with_mtp() {
  TextSpec text;
  text.hidden_size = 4096;
  GqaSpec gqa;
  gqa.num_attention_heads = 32;
  gqa.num_key_value_heads = 8;
  gqa.head_dim = 128;
  DenseMlpSpec mlp;
  mlp.intermediate_size = 12288;
  text.mixers.push_back({"full", gqa});
  text.mlps.push_back({"dense", mlp});
  text.layers = {{0, 0}};
  text.mtp = MtpSpec{};
  text.mtp->num_layers = 1;
  text.mtp->blocks = {{0, 0}};
  return text;
}

Shapes shapes(CrossEntropy loss = CrossEntropy::unfused) {
  Shapes s = shapes_of(4096, 4096);
  s.vocab = kVocab;
  s.cross_entropy = loss;
  return s;
}

std::int64_t block_elements(const OpList& ops) {
  std::int64_t sum = 0;
  for (const Op& op : ops)
    for (const Weight& w : op.weights) sum += w.elements();
  return sum;
}

}  // namespace

TEST_CASE("a depth keeps six stream tensors, its block and its softmax") {
  const TextSpec text = text_with_mtp();
  const OpList ops = mtp_layer(text, shapes(), true);
  const std::int64_t inner = saved_bytes(decoder_block(text, {0, 0}, shapes()));
  const std::int64_t statistics = 3 * 4096 * 4;
  CHECK(saved_bytes(ops, "softmax") == 4096 * kVocab * 4);
  CHECK(saved_bytes(ops) == inner + 6 * 32 * kMiB + statistics + 4096 * kVocab * 4);
  // Transformer Engine's loss leaves the half-precision gradient in the logits.
  CHECK(saved_bytes(mtp_layer(text, shapes(CrossEntropy::te_fused), true), "softmax") == 4096 * kVocab * 2);
}

TEST_CASE("what is kept is no transient: both together are the bytes of one loss") {
  const OpList ops = mtp_layer(text_with_mtp(), shapes(), true);
  std::int64_t forward = 0;
  for (const Transient& t : ops.back().transients)
    if (t.moment == Moment::forward) forward += t.bytes.value;
  CHECK(forward + saved_bytes(ops, "softmax") == 6 * 4096 * kVocab);
}

TEST_CASE("its weights: two norms, a projection, a block, a last norm; embedding and head are shared") {
  const TextSpec text = text_with_mtp();
  const OpList ops = mtp_layer(text, shapes(), true);
  CHECK(elements(ops, ParamGroup::mtp_projection) == 2LL * 4096 * 4096);
  CHECK(elements(ops, ParamGroup::embedding) == 0);
  CHECK(elements(ops, ParamGroup::lm_head) == 0);
  CHECK(block_elements(ops) == block_elements(decoder_block(text, {0, 0}, shapes())) + 3 * 4096 + 2LL * 4096 * 4096);
  CHECK(block_elements(mtp_layer(text, shapes(), false)) == 0);
}

TEST_CASE("split projections hold as many weights; own embedding and head are counted where a model has them") {
  TextSpec text = text_with_mtp();
  text.mtp->input_projection_split = true;
  CHECK(elements(mtp_layer(text, shapes(), true), ParamGroup::mtp_projection) == 2LL * 4096 * 4096);
  text.mtp->shares_embedding_and_head = false;
  const OpList ops = mtp_layer(text, shapes(), true);
  CHECK(elements(ops, ParamGroup::embedding) == 4096 * kVocab);
  CHECK(elements(ops, ParamGroup::lm_head) == 4096 * kVocab);
}

TEST_CASE("MTP added to a model without any copies its last layer") {
  TextSpec text = text_with_mtp();
  const std::int64_t with = block_elements(mtp_layer(text, shapes(), true));
  text.mtp.reset();
  CHECK(block_elements(mtp_layer(text, shapes(), true)) == with);
}
