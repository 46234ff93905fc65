// SPDX-License-Identifier: Apache-2.0
#include "memory/whole_tensors.hpp"

#include <algorithm>

#include "memory/profiles.hpp"

// Computes:   which whole tensors a rank owns under the layer-wise optimizer of code before 2026-05-21.
// Formula:    all trainable tensors of a grid, sorted by size, are dealt to the ranks 0..d-1 and back, d-1..0, and so
//             on: tensor i goes to the i mod 2d-th of that round. A rank has master weight and moments of what it owns.
// Source:     Megatron-LM core/optimizer/layer_wise_optimizer.py, shard_params, before its 0044db1f20.
// Valid when: the run shards layer-wise and lays out no buffer for it.
// Ignores:    which of two tensors of one size comes first; that the fullest rank of the dense grid need not be that of the
//             expert grid; that weights kept in fp32 (Mamba's A_log and D) need no master copy.
// Checked by: tests/memory/whole_tensors_test.cpp.

namespace shardfit::memory {

namespace {

/// Numbers below n that leave the remainder r when divided by m.
std::int64_t with_remainder(std::int64_t n, std::int64_t r, std::int64_t m) { return n > r ? (n - r - 1) / m + 1 : 0; }

/// Of the tensors first, ..., first + count - 1, those that a rank gets.
std::int64_t dealt(std::int64_t first, std::int64_t count, int rank, int ranks) {
  const std::int64_t round = 2 * std::int64_t(ranks), there = rank, back = round - 1 - rank;
  std::int64_t n = 0;
  for (const std::int64_t r : {there, back}) n += with_remainder(first + count, r, round) - with_remainder(first, r, round);
  return n;
}

/// fp32 words of state: master weight and moments.
std::int64_t words(const OwnedTensors& o) { return 2 * o.matrices + 3 * o.others; }

}  // namespace

void append_tensor_sizes(const block::OpList& ops, int copies, TensorSizes& sizes) {
  for (const block::Op& op : ops)
    for (const block::Weight& w : op.weights)
      if (w.trainable && !w.buffer && w.count > 0)
        sizes.push_back({w.rows * w.cols, w.count * copies, is_muon_matrix(op, w), w.expert});
}

OwnedTensors dealt_to(const TensorSizes& sizes, bool expert, int rank, int ranks) {
  OwnedTensors owned;
  std::int64_t first = 0;
  for (const TensorSize& s : sizes) {
    if (s.expert != expert) continue;
    (s.matrix ? owned.matrices : owned.others) += s.elements * dealt(first, s.count, rank, ranks);
    first += s.count;
  }
  return owned;
}

OwnedTensors dealt_to_fullest(TensorSizes& sizes, bool expert, int ranks) {
  std::sort(sizes.begin(), sizes.end(), [](const TensorSize& a, const TensorSize& b) { return a.elements < b.elements; });
  OwnedTensors fullest;
  for (int rank = 0; rank < ranks; ++rank) {
    const OwnedTensors owned = dealt_to(sizes, expert, rank, ranks);
    if (words(owned) > words(fullest)) fullest = owned;
  }
  return fullest;
}

}  // namespace shardfit::memory
