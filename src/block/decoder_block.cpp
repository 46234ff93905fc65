// SPDX-License-Identifier: Apache-2.0
// Computes:   one decoder block: norm, mixer, residual add, norm, MLP, residual add, with second norms and
//             hyper-connections where the model has them.
// Formula:    a residual add moves 6 B an element each way (with the norm's own 4 and 10 that makes 10 and 16) and keeps a
//             dropout mask of 1 B. Hyper-connections with n streams: weights (2 + n)n*(n*h + 1) + 3 a sublayer; n*h*8 B a
//             row forward, twice that backward.
// Source:     Megatron-LM core/transformer/transformer_layer.py, core/models/gpt/gpt_layer_specs.py (which norms are fused
//             into the linear after them: all but latent attention's and an MoE layer's),
//             core/fusions/fused_bias_dropout.py.
// Valid when: the residual stream is in the activation type.
// Ignores:    fp32 residuals, the bias add of row-parallel linears (fused).
// Checked by: tests/block/decoder_block_test.cpp.
#include "block/blocks.hpp"
#include "block/linear.hpp"

namespace shardfit::block {
namespace {

constexpr double kResidualBytes = 6;  ///< read both, write the sum; backward the same (counted)
constexpr double kMaskByte = 1;
constexpr std::int64_t kScales = 3;                         ///< learned scales of a hyper-connection: in, out, stream to stream
constexpr double kStreamForward = 8, kStreamBackward = 16;  ///< mixing n streams, B an element (counted: four passes)

// Calls and launches beside the lists' (kind: counted in transformer_layer.py, fusions/fused_bias_dropout.py and
// hyper_connection.py: projection, norm, sigmoids and 20 Sinkhorn steps fused to a few kernels, mixing in and out).
constexpr double kNormCalls = 1, kResidualCalls = 1;
constexpr double kStreamCalls = 6, kStreamLaunchesForward = 8, kStreamLaunchesBackward = 16;

/// How the norm before a sublayer stands to what reads it.
struct NormPlace {
  NormOutput output = NormOutput::one_linear;
  EnumSet<RecomputeModule> dropped_by;
  std::optional<OffloadModule> offload_input, offload_output;
  EnumSet<LinearModule> adapters;
  std::optional<GraphScope> scope;
  bool apart = false;  ///< a module of its own, not inside the linear after it
};

bool is_recurrent(const MixerKind& kind) {
  return std::holds_alternative<GatedDeltaNetSpec>(kind) || std::holds_alternative<Mamba2Spec>(kind);
}

NormPlace before_mixer(const MixerKind& kind, const Shapes& s) {
  const bool latent = std::holds_alternative<MlaSpec>(kind) || std::holds_alternative<CompressedMqaSpec>(kind);
  const bool apart = latent || !s.transformer_engine;
  NormPlace place;
  place.output = latent ? NormOutput::two_linears : NormOutput::one_linear;
  place.apart = apart;
  if (apart) place.dropped_by = {RecomputeModule::layernorm};
  // A fused norm runs inside the linear's offload scope; a separate one has its own.
  place.offload_input = apart ? OffloadModule::attn_norm : OffloadModule::qkv_linear;
  place.offload_output = OffloadModule::qkv_linear;
  place.adapters = {LinearModule::linear_qkv};
  if (is_recurrent(kind)) place.adapters = {LinearModule::in_proj};
  if (latent)
    place.adapters = {LinearModule::linear_q_down_proj, LinearModule::linear_kv_down_proj, LinearModule::linear_q_proj};
  place.scope = std::holds_alternative<Mamba2Spec>(kind) ? GraphScope::mamba : GraphScope::attn;
  return place;
}

NormPlace before_mlp(const MlpKind& kind, const Shapes& s) {
  NormPlace place;
  if (std::holds_alternative<MoeMlpSpec>(kind)) {
    // Where each reader has a norm of its own, this one's goes to the dispatch alone, which keeps no input.
    place.output = s.norms_written_out ? NormOutput::not_kept : NormOutput::shared;
    place.apart = true;
    if (!s.norms_written_out) place.dropped_by = {RecomputeModule::layernorm};
    place.offload_input = OffloadModule::mlp_norm;
    place.scope = GraphScope::moe_router;
  } else {
    // Recompute of a dense MLP starts at the input of the linear's fused norm.
    place.dropped_by = {s.transformer_engine ? RecomputeModule::mlp : RecomputeModule::layernorm};
    place.apart = !s.transformer_engine;
    if (!s.transformer_engine) place.offload_input = OffloadModule::mlp_norm;
    place.scope = GraphScope::mlp;
  }
  place.adapters = {LinearModule::linear_fc1};
  return place;
}

/// A norm of its own; one inside a linear is called with it.
void add_norm_calls(Op& op) {
  add_host(op.forward, kNormCalls);
  add_host(op.backward, kNormCalls);
}

Op pre_norm(const char* name, const NormPlace& place, const Shapes& s) {
  Op op = norm_op(name, s, s.hidden, place.dropped_by, place.scope, place.output, place.adapters);
  for (std::size_t i = 0; i < op.saved.size(); ++i) {
    // The input comes first, then statistics (too small to move), then the output.
    if (i == 0) op.saved[i].offload = place.offload_input;
    if (i >= 2) op.saved[i].offload = place.offload_output;
  }
  return op;
}

/// Compiled blocks that recompute by operation make the input of the MLP's norm again, from what attention found: nothing else
/// that is kept needs it. Tools whose loss is a chain of single operations are taken as not compiled.
void drop_stream_before_mlp(Op& norm, const MlpKind& kind, const Shapes& s) {
  const bool compiled = s.recompute_by_operation && !s.eager_loss;
  if (compiled && std::holds_alternative<DenseMlpSpec>(kind) && !norm.saved.empty())
    norm.saved.front().dropped_by = {RecomputeModule::mlp};
}

Op post_norm(const char* name, const NormPlace& place, const Shapes& s) {
  Op op = norm_op(name, s, s.hidden, {}, place.scope, NormOutput::not_kept);
  add_norm_calls(op);
  return op;
}

Op residual_op(const char* name, const NormPlace& place, const Shapes& s) {
  Op op = part_op(name, View::residual, place.scope);
  const double rows = double(s.stream_tokens), cols = double(s.hidden);
  add_memory(op.forward, name, kResidualBytes * rows * cols);
  add_memory(op.backward, name, kResidualBytes * rows * cols, Pass::dgrad);
  add_host(op.forward, kResidualCalls);
  add_host(op.backward, kResidualCalls);
  if (s.hidden_dropout) keep(op, s, "dropout_mask", tensor_bytes(rows, cols, kMaskByte));
  return op;
}

/// Reads n streams, mixes the sublayer's input out of them and its output back in; the mixing weights come from the
/// streams themselves by one thin projection.
Op hyper_connection_op(const char* name, const NormPlace& place, const Shapes& s) {
  Op op = part_op(name, View::residual, place.scope);
  const std::int64_t n = s.residual_streams, mix = (2 + n) * n;
  Linear l;
  l.name = name;
  l.group = ParamGroup::hyper_connections;
  l.tokens = double(s.stream_tokens);
  l.out = mix;
  l.in = n * s.hidden;
  l.split = Split::replicated;
  l.quantized = false;
  add_linear(op, l, s);
  add_weight(op, "hc_base", ParamGroup::hyper_connections, mix, 1, Split::replicated, s);
  add_weight(op, "hc_scale", ParamGroup::hyper_connections, kScales, 1, Split::replicated, s);
  const double rows = double(s.stream_tokens), streams = double(n) * double(s.hidden);
  keep(op, s, "residual_streams", tensor_bytes(rows, streams, s.e));
  add_memory(op.forward, name, kStreamForward * rows * streams);
  add_memory(op.backward, name, kStreamBackward * rows * streams, Pass::dgrad);
  add_host(op.forward, kStreamCalls, kStreamLaunchesForward);
  add_host(op.backward, kStreamCalls, kStreamLaunchesBackward);
  return op;
}

struct AppendMixer {
  const Shapes& s;
  OpList& ops;
  void operator()(const GqaSpec& spec) const { append_gqa(spec, s, ops); }
  void operator()(const MlaSpec& spec) const { append_mla(spec, s, ops); }
  void operator()(const GatedDeltaNetSpec& spec) const { append_gated_delta_net(spec, s, ops); }
  void operator()(const Mamba2Spec& spec) const { append_mamba2(spec, s, ops); }
  void operator()(const CompressedMqaSpec& spec) const { append_compressed_mqa(spec, s, ops); }
};

struct AppendMlp {
  const Shapes& s;
  OpList& ops;
  void operator()(const DenseMlpSpec& spec) const { append_dense_mlp(spec, s, ops); }
  void operator()(const MoeMlpSpec& spec) const { append_moe(spec, s, ops); }
};

void append_mixer(const MixerKind& kind, const Shapes& s, OpList& ops) {
  const NormPlace place = before_mixer(kind, s);
  if (s.residual_streams > 1) ops.push_back(hyper_connection_op("mixer_hyper_connection", place, s));
  ops.push_back(pre_norm("input_norm", place, s));
  if (place.apart) add_norm_calls(ops.back());
  std::visit(AppendMixer{s, ops}, kind);
  if (s.norm_post) ops.push_back(post_norm("post_mixer_norm", place, s));
  ops.push_back(residual_op("mixer_residual", place, s));
}

bool has_separate_norms(const MlpKind& kind) {
  const auto* moe = std::get_if<MoeMlpSpec>(&kind);
  return moe && moe->separate_norms;
}

void append_mlp(const MlpKind& kind, const Shapes& shapes, OpList& ops) {
  Shapes s = shapes;
  s.norms_written_out = has_separate_norms(kind);
  const NormPlace place = before_mlp(kind, s);
  if (s.residual_streams > 1) ops.push_back(hyper_connection_op("mlp_hyper_connection", place, s));
  ops.push_back(pre_norm("pre_mlp_norm", place, s));
  drop_stream_before_mlp(ops.back(), kind, s);
  if (place.apart) add_norm_calls(ops.back());
  std::visit(AppendMlp{s, ops}, kind);
  if (s.norm_post) ops.push_back(post_norm("post_mlp_norm", place, s));
  ops.push_back(residual_op("mlp_residual", place, s));
}

/// Nothing trains here or before: no backward pass reaches the block.
void drop_backward(OpList& ops) {
  for (Op& op : ops) {
    op.backward = {};
    std::erase_if(op.transients, [](const Transient& t) { return t.moment == Moment::backward; });
  }
}

}  // namespace

OpList decoder_block(const TextSpec& text, BlockRef block, const Shapes& s) {
  OpList ops;
  if (block.mixer >= 0) append_mixer(text.mixers[std::size_t(block.mixer)].kind, s, ops);
  if (block.mlp >= 0) append_mlp(text.mlps[std::size_t(block.mlp)].kind, s, ops);
  if (!runs_backward(s)) drop_backward(ops);
  return ops;
}

}  // namespace shardfit::block
