// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "memory/profiles.hpp"

// Computes:   parameters of a rank by what they cost.
// Formula:    sums of rows*cols*count over the operations' weights.
// Source:     the operation lists (src/block).
// Valid when: the operations are of one rank.
// Ignores:    which bucket of the gradient buffer a parameter falls into.
// Checked by: tests/memory/parameters_test.cpp.

namespace shardfit::memory {

namespace {

/// Parameters start at multiples of 64 elements in the distributed optimizer's buffer. Source: Megatron-LM
/// core/optimizer/param_layout.py. Kind: read.
constexpr std::int64_t kParameterAlignment = 64;

std::int64_t gap_after(std::int64_t elements) {
  return (kParameterAlignment - elements % kParameterAlignment) % kParameterAlignment;
}

void count_trainable(const block::Op& op, const block::Weight& w, ParamCounts& c) {
  const std::int64_t n = w.elements();
  if (w.split == block::Split::replicated && !w.expert && w.group < block::ParamGroup::vision_tower) c.replicated += n;
  if (w.fp32) {
    (w.expert ? c.expert_fp32 : c.dense_fp32) += n;
    return;
  }
  (w.expert ? c.expert : c.dense) += n;
  (w.expert ? c.gaps_expert : c.gaps_dense) += gap_after(w.rows * w.cols) * w.count;
  if (!is_muon_matrix(op, w)) return;
  c.matrices += n;
  if (w.expert) c.matrices_expert += n;
  std::int64_t& largest = w.expert ? c.largest_matrix_expert : c.largest_matrix;
  largest = std::max(largest, w.rows * w.cols);
}

void count_weight(const block::Op& op, const block::Weight& w, ParamCounts& c) {
  const std::int64_t n = w.elements();
  if (w.buffer) {
    c.buffers += n;
    return;
  }
  const std::int64_t copies = std::llround(double(n) * w.copy_width);
  c.copy_bytes += copies;
  if (w.expert) c.copy_bytes_expert += copies;
  if (w.linear) (w.expert ? c.linear_expert : c.linear_dense) += n;
  if (w.linear && w.trainable) (w.expert ? c.linear_trainable_expert : c.linear_trainable_dense) += n;
  if (w.trainable)
    count_trainable(op, w, c);
  else
    (w.expert ? c.frozen_expert : c.frozen_dense) += n;
}

}  // namespace

bool is_muon_matrix(const block::Op& op, const block::Weight& w) {
  return !w.embedding && w.cols > 1 && (w.linear || w.bf16_linear || op.view == block::View::router);
}

ParamCounts& ParamCounts::operator+=(const ParamCounts& o) {
  dense += o.dense;
  expert += o.expert;
  dense_fp32 += o.dense_fp32;
  expert_fp32 += o.expert_fp32;
  frozen_dense += o.frozen_dense;
  frozen_expert += o.frozen_expert;
  linear_dense += o.linear_dense;
  linear_expert += o.linear_expert;
  linear_trainable_dense += o.linear_trainable_dense;
  linear_trainable_expert += o.linear_trainable_expert;
  matrices += o.matrices;
  matrices_expert += o.matrices_expert;
  largest_matrix = std::max(largest_matrix, o.largest_matrix);
  largest_matrix_expert = std::max(largest_matrix_expert, o.largest_matrix_expert);
  gaps_dense += o.gaps_dense;
  gaps_expert += o.gaps_expert;
  buffers += o.buffers;
  copy_bytes += o.copy_bytes;
  copy_bytes_expert += o.copy_bytes_expert;
  replicated += o.replicated;
  return *this;
}

ParamCounts operator*(ParamCounts p, std::int64_t n) {
  if (n == 0) return {};
  for (std::int64_t* field :
       {&p.dense, &p.expert, &p.dense_fp32, &p.expert_fp32, &p.frozen_dense, &p.frozen_expert, &p.linear_dense,
        &p.linear_expert, &p.linear_trainable_dense, &p.linear_trainable_expert, &p.matrices, &p.matrices_expert, &p.gaps_dense,
        &p.gaps_expert, &p.buffers, &p.copy_bytes, &p.copy_bytes_expert, &p.replicated})
    *field *= n;
  return p;
}

ParamCounts count_params(const block::OpList& ops) {
  ParamCounts c;
  for (const block::Op& op : ops)
    for (const block::Weight& w : op.weights) count_weight(op, w, c);
  return c;
}

WeightShapes weight_shapes(const block::OpList& ops) {
  WeightShapes shapes;
  for (const block::Op& op : ops)
    for (const block::Weight& w : op.weights)
      if (w.trainable && w.cols > 1 && (w.linear || w.bf16_linear)) shapes.emplace_back(w.rows, w.cols);
  std::sort(shapes.begin(), shapes.end());
  shapes.erase(std::unique(shapes.begin(), shapes.end()), shapes.end());
  return shapes;
}

}  // namespace shardfit::memory
