// SPDX-License-Identifier: Apache-2.0
// Computes:   how many parameters a model has, and how many of them a token meets.
// Formula:    the sum over its operation lists; routed experts count k/E of theirs as active.
// Source:     the lists, which meet every exact published total (tests/laws/param_counts_test.cpp).
// Valid when: every expert of a layer has one shape.
// Ignores:    MTP layers, which are dropped after training.
// Checked by: tests/laws/param_counts_test.cpp.
#include "block/parameter_count.hpp"

#include "block/blocks.hpp"

namespace shardfit::block {
namespace {

void add(ParameterCount& count, const OpList& ops, std::int64_t experts = 1, std::int64_t top_k = 1) {
  for (const Op& op : ops)
    for (const Weight& w : op.weights) {
      count.total += w.elements();
      count.active += w.group == ParamGroup::routed_experts ? w.elements() / experts * top_k : w.elements();
    }
}

}  // namespace

ParameterCount parameter_count(const ModelSpec& model) {
  const Shapes shapes = undivided_shapes(model);
  const TextSpec& text = model.text;
  ParameterCount count;
  add(count, embedding(text, shapes));
  for (const BlockRef& layer : text.layers) {
    const auto* moe = layer.mlp < 0 ? nullptr : std::get_if<MoeMlpSpec>(&text.mlps[std::size_t(layer.mlp)].kind);
    add(count, decoder_block(text, layer, shapes), moe ? moe->num_experts : 1, moe ? moe->num_experts_per_tok : 1);
  }
  add(count, head(text, shapes, !text.tie_word_embeddings));
  if (model.vision) {
    add(count, vision_ends(*model.vision, shapes, {}, {}));
    add(count, vision_layers(*model.vision, shapes, shapes, {}, {}));
    add(count, vision_projector(*model.vision, shapes, {}, {}));
  }
  return count;
}

}  // namespace shardfit::block
