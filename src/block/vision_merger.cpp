// SPDX-License-Identifier: Apache-2.0
// Computes:   the mergers from the tower to the decoder.
// Formula:    a merger norms patches, joins merge_size^2 of them and runs two linears (or a convolution and a gated MLP, or
//             a pooled linear).
// Source:     Megatron-Bridge models/qwen_vl/modelling_qwen3_vl/utils.py, transformers glm4v and gemma3 (structure).
// Valid when: the projector is on the tower's stage.
// Ignores:    that Gemma-3's projection is split over tp and gathered (2 MB of weights).
// Checked by: tests/block/vision_test.cpp, tests/laws/param_counts_test.cpp.
#include "block/vision_parts.hpp"

namespace shardfit::block {
namespace {

// Calls and launches of one merger beside the lists' (kind: counted in Megatron-Bridge models/qwen_vl): norm, reshape,
// modules of two linears, activation.
constexpr double kMergerForwardCalls = 6, kMergerForwardLaunches = 3, kMergerBackwardCalls = 8, kMergerBackwardLaunches = 6;

constexpr View kView = View::vision_projector;

struct Merger {
  const VisionSpec* vision;
  const MergerSpec* spec;
  ParamGroup group;
  const Shapes* shapes;  ///< of the decoder
  const VisionLoad* load;
  const TowerBuild* build;
  bool holds_input;  ///< nobody else keeps the tower's output
};

void add_activation(Op& op, double rows, double columns, int inputs, const Shapes& s) {
  keep(op, s, "fc1_out", tensor_bytes(rows, columns * inputs, s.e));
  add_memory(op.forward, "merger_activation", (inputs + 1) * s.e * rows * columns);
  if (runs_backward(s)) add_memory(op.backward, "merger_activation", (2 * inputs + 1) * s.e * rows * columns, Pass::dgrad);
  if (s.eager_elementwise && inputs > 1) keep(op, s, "gate_activation", tensor_bytes(rows, columns, s.e));
  keep_linear_input(op, s, "activation_out", rows, columns, {}, {}, {LinearModule::linear_fc2});
}

/// fc1 and fc2 around an activation, [tokens, in] to [tokens, out].
void add_two_linears(Op& op, const Merger& m, std::int64_t in, bool gated, bool input_grad, const Shapes& s) {
  VisionLinear l;
  l.name = "merger_fc1";
  l.group = m.group;
  l.out = std::int64_t(gated ? 2 : 1) * m.spec->intermediate_size;
  l.in = in;
  l.bias = m.spec->bias;
  l.bias_pass = bias_pass(*m.build, false);
  l.input_grad = input_grad;
  l.adapter = LinearModule::linear_fc1;
  add_vision_linear(op, l, s);
  add_activation(op, double(s.tokens), double(m.spec->intermediate_size) / s.tp, gated ? 2 : 1, s);
  l.name = "merger_fc2";
  l.adapter = LinearModule::linear_fc2;
  l.out = m.spec->out_hidden_size;
  l.in = m.spec->intermediate_size;
  l.row_parallel = true;
  l.input_grad = true;
  add_vision_linear(op, l, s);
  add_output_reduction(op, double(m.spec->out_hidden_size), s);
  if (input_grad) add_input_gradient_reduction(op, double(in), s);
}

NormKind merger_norm(const MergerSpec& spec) { return spec.layernorm ? NormKind::layernorm : NormKind::rmsnorm; }

std::int64_t joined_width(const Merger& m) {
  return std::int64_t(m.vision->hidden_size) * m.spec->merge_size * m.spec->merge_size;
}

/// Shapes of the merger over visual tokens (joined patches) or over patches.
Shapes merger_shapes(const Merger& m, double rows, std::int64_t width, NormKind norm) {
  return vision_shapes(*m.shapes, rows, width, norm, *m.build);
}

void add_mlp_merger(Op& op, const Merger& m) {
  const std::int64_t joined = joined_width(m);
  const Shapes tokens = merger_shapes(m, m.load->tokens, joined, merger_norm(*m.spec));
  const Shapes patches = merger_shapes(m, m.load->patches, m.vision->hidden_size, merger_norm(*m.spec));
  const Shapes& normed = m.spec->norm_after_merge ? tokens : patches;
  if (m.spec->has_norm) add_vision_norm(op, m.group, normed.hidden, m.holds_input, normed, {LinearModule::linear_fc1});
  const bool norm_trains = m.spec->has_norm && trains_base(tokens);
  add_two_linears(op, m, joined, false, tokens.needs_input_grad || norm_trains, tokens);
}

void add_conv_merger(Op& op, const Merger& m) {
  const std::int64_t out = m.spec->out_hidden_size;
  const Shapes s = merger_shapes(m, m.load->tokens, out, NormKind::layernorm);
  VisionLinear l;  // a convolution over merge_size^2 patches
  l.name = "merger_downsample";
  l.group = m.group;
  l.out = out;
  l.in = joined_width(m);
  l.split = Split::replicated;
  l.bias = true;
  l.bias_pass = BiasPass::both;
  l.input_grad = s.needs_input_grad;
  const std::size_t conv = op.weights.size();
  add_vision_linear(op, l, s);
  op.weights[conv].bf16_linear = false;  // no linear module
  if (m.holds_input) keep_linear_input(op, s, "downsample_in", double(s.tokens), double(l.in));
  l.name = "merger_projection";
  l.in = out;
  l.bias = false;
  l.input_grad = true;
  add_vision_linear(op, l, s);
  keep_linear_input(op, s, "projection_in", double(s.tokens), double(out));
  add_vision_norm(op, m.group, out, true, s);
  add_two_linears(op, m, out, true, true, s);
}

void add_pooled_merger(Op& op, const Merger& m) {
  const Shapes s = merger_shapes(m, m.load->tokens, m.vision->hidden_size, merger_norm(*m.spec));
  add_memory(op.forward, "merger_pool", (m.load->patches + m.load->tokens) * m.vision->hidden_size * s.e);
  if (s.needs_input_grad)
    add_memory(op.backward, "merger_pool", (m.load->patches + m.load->tokens) * m.vision->hidden_size * s.e, Pass::dgrad);
  if (m.spec->has_norm) add_vision_norm(op, m.group, m.vision->hidden_size, true, s);
  VisionLinear l;
  l.name = "merger_projection";
  l.group = m.group;
  l.out = m.spec->out_hidden_size;
  l.in = m.vision->hidden_size;
  l.split = Split::replicated;
  l.bias = m.spec->bias;
  l.bias_pass = bias_pass(*m.build, false);
  add_vision_linear(op, l, s);
}

Op any_merger_op(const char* name, const Merger& m) {
  Op op = vision_op(name, kView);
  switch (m.spec->kind) {
    case MergerSpec::Kind::mlp: add_mlp_merger(op, m); break;
    case MergerSpec::Kind::conv_gated_mlp: add_conv_merger(op, m); break;
    case MergerSpec::Kind::avg_pool_linear: add_pooled_merger(op, m); break;
  }
  add_host(op.forward, kMergerForwardCalls, kMergerForwardLaunches);
  if (runs_backward(vision_shapes(*m.shapes, 0, 0, m.shapes->norm, *m.build)))
    add_host(op.backward, kMergerBackwardCalls, kMergerBackwardLaunches);
  return op;
}

}  // namespace

Op merger_op(const VisionSpec& v, const Shapes& projection, const VisionLoad& load, const TowerBuild& build) {
  return any_merger_op("vision_merger", {&v, &v.merger, ParamGroup::vision_merger, &projection, &load, &build, true});
}

Op deepstack_merger_op(const VisionSpec& v, const Shapes& projection, const VisionLoad& load, const TowerBuild& build,
                       bool holds_input) {
  return any_merger_op("deepstack_merger",
                       {&v, &v.deepstack->merger, ParamGroup::deepstack_mergers, &projection, &load, &build, holds_input});
}

}  // namespace shardfit::block
