// SPDX-License-Identifier: Apache-2.0
// Computes:   rotary embedding of queries and keys in a vision tower, in single fp32 operations.
// Formula:    B moved for an element of q or k: 60 forward and 68 backward in Megatron's operations, 52 and 72 in
//             Transformers'; 12 and 9 launches a tensor, 7 and 11.
// Source:     Megatron-LM d98e8a64 core/models/common/embeddings/rope_utils.py:_apply_rotary_pos_emb_bshd, called in fp32
//             by Megatron-Bridge 067f987df models/qwen_vl/modelling_qwen3_vl/rope.py (its fused kernel is refused there):
//             Qwen3-VL, Qwen3.5, Qwen3.6. transformers apply_rotary_pos_emb_vision of qwen2_5_vl and glm4v: the published
//             towers. Counted operation by operation, with autograd's.
// Valid when: heads are rotated over their whole width.
// Ignores:    L2 hits between the operations; that Kimi-K2.5 rotates complex numbers (20 B forward) and Gemma-3 not at all.
// Checked by: tests/block/vision_test.cpp.
#include "block/vision_parts.hpp"

namespace shardfit::block {
namespace {

/// What rotating one of q and k in single fp32 operations moves and launches (kind: counted). B an element of the tensor, and B
/// an element of the angles [P, head_dim], which all heads share.
struct Rotation {
  double forward, backward, angles_forward, angles_backward, forward_launches, backward_launches;
};

// Megatron's. Forward: cast (2, 4 B), product with the cosine (4, 4), half negated (2, 2), join (4, 4), product with the sine
// (4, 4), sum (8, 4), join with the empty rest (4, 4), cast back (4, 2); cosine, sine and their scales (4 x 8) and reading both
// (8). Backward: casts (2, 4; 4, 2), two products (8 each), half negated (4), halves joined (8), sum of both ways (12), and for
// the empty rest a cleared tensor and one more sum (4, 12).
constexpr Rotation kMegatronRotation{6 + 8 + 4 + 8 + 8 + 12 + 8 + 6, 6 + 8 + 8 + 4 + 8 + 12 + 4 + 12 + 6, 40, 8, 12, 9};
// Transformers'. As above without the empty rest; angles are made once a tower. Halves are slices: backward clears a tensor and
// copies half of it for each (4 + 4), and sums three ways (2 x 12).
constexpr Rotation kPublishedRotation{6 + 8 + 4 + 8 + 8 + 12 + 6, 6 + 8 + 8 + 4 + 2 * 8 + 2 * 12 + 6, 8, 8, 7, 11};

}  // namespace

void add_rotation(Op& op, const VisionSpec& v, const Shapes& s, const TowerBuild& build) {
  const Rotation& r = build.split_over_tp ? kMegatronRotation : kPublishedRotation;
  const double rows = double(s.tokens), elements = 2 * rows * v.hidden_size / s.tp, angles = 2 * rows * v.head_dim;
  add_memory(op.forward, "rotary", r.forward * elements + r.angles_forward * angles);
  if (!op.forward.kernels.empty() && rows > 0) op.forward.kernels.back().launches = 2 * r.forward_launches;
  if (!runs_backward(s)) return;
  add_memory(op.backward, "rotary", r.backward * elements + r.angles_backward * angles, Pass::dgrad);
  if (rows > 0) op.backward.kernels.back().launches = 2 * r.backward_launches;
}

}  // namespace shardfit::block
