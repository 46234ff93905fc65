// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "block/blocks.hpp"
#include "block/linear.hpp"

namespace shardfit::block {

// Parts that the vision tower and its mergers share. Both run in bf16 on whole images, without sequence or
// context parallelism: split over tp, or whole on every rank.

/// Shapes of a part of the tower of `rows` rows and `hidden` columns: no quantisation, its own norm.
Shapes vision_shapes(const Shapes& shapes, double rows, std::int64_t hidden, NormKind norm, const TowerBuild& build);

/// An operation that belongs to `view`.
Op vision_op(const char* name, View view);

/// Passes of its own that a bias makes beside the GEMMs: none, as GEMMs of Transformer Engine add it and sum its gradient;
/// its gradient's sum, in torch's linears; and the addition too, where Megatron adds it later or a convolution apart.
enum class BiasPass { none, gradient, both };

/// `added_later`: Megatron's linear returns the bias (skip_bias_add).
inline BiasPass bias_pass(const TowerBuild& build, bool added_later) {
  return !build.split_over_tp ? BiasPass::gradient : added_later ? BiasPass::both : BiasPass::none;
}

struct VisionLinear {
  const char* name = "";
  ParamGroup group = ParamGroup::vision_tower;
  std::int64_t out = 0, in = 0;  ///< undivided
  Split split = Split::tensor;
  bool row_parallel = false, bias = false, input_grad = true;
  BiasPass bias_pass = BiasPass::none;
  std::optional<LinearModule> adapter = {};
};

/// Adds a bf16 linear with the passes over its bias. Its weight is never quantised but has a placeholder
/// gradient.
void add_vision_linear(Op& op, const VisionLinear& linear, const Shapes& shapes);

/// Adds a norm of [rows, width]: weights in `group`, kept input (if `input_held`), statistics and output, which the
/// adapters named `adapters` read. Written out, an RMSNorm keeps its input in fp32 and the scaled input instead.
void add_vision_norm(Op& op, ParamGroup group, std::int64_t width, bool input_held, const Shapes& shapes,
                     EnumSet<LinearModule> adapters = {});

/// Adds the all-reduces over tp after a row-parallel linear forward and before a column-parallel one
/// backward.
void add_output_reduction(Op& op, double columns, const Shapes& shapes);
void add_input_gradient_reduction(Op& op, double columns, const Shapes& shapes);

/// Rotates queries and keys by their places: passes over both, and their launches.
void add_rotation(Op& op, const VisionSpec& vision, const Shapes& shapes, const TowerBuild& build);

/// A micro-batch without images calls no tower: its weights stay, nothing runs.
void clear_work(OpList& ops);

/// One merger of the tower's output, and one of a layer's output on its way (`holds_input`: nobody else keeps it).
Op merger_op(const VisionSpec& vision, const Shapes& projection, const VisionLoad& load, const TowerBuild& build);
Op deepstack_merger_op(const VisionSpec& vision, const Shapes& projection, const VisionLoad& load, const TowerBuild& build,
                       bool holds_input);

}  // namespace shardfit::block
