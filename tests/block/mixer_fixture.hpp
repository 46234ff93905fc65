// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "block/blocks.hpp"
#include "op_sums.hpp"

namespace shardfit::block {

/// Shapes of a bf16 layer of `hidden` width and `sequence` tokens on tp ranks with sequence parallelism.
inline Shapes shapes_of(std::int64_t hidden, std::int64_t sequence, int tp = 1, std::int64_t micro_batch = 1, int cp = 1) {
  Shapes s;
  s.hidden = hidden;
  s.sequence = sequence;
  s.micro_batch = micro_batch;
  s.tp = s.etp = tp;
  s.cp = cp;
  s.tokens = sequence * micro_batch / cp;
  s.sequence_parallel = tp > 1;
  s.stream_tokens = s.tokens / tp;
  return s;
}

/// A block with a mixer and no MLP: norm, mixer, residual add.
inline OpList mixer_block(MixerKind kind, const Shapes& s) {
  TextSpec text;
  text.mixers.push_back({"mixer", kind});
  return decoder_block(text, {0, -1}, s);
}

/// Weights of a block on one of tp ranks, put together again: split ones times tp, replicated ones once.
inline std::int64_t whole_elements(const OpList& ops, int tp) {
  return elements(ops, Split::tensor) * tp + elements(ops, Split::replicated);
}

}  // namespace shardfit::block
