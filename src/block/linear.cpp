// SPDX-License-Identifier: Apache-2.0
// Computes:   what a linear layer, a norm and their tensor-parallel collectives add to an operation.
// Formula:    forward out[N, out], k = in; dgrad [N, in], k = out; wgrad [out, in], k = N, accumulated into the gradient
//             buffer. A quantised operand costs one pass (input forward, output gradient backward); its column-wise copy is
//             kept in place of the bf16 input. A norm moves 4 B an element forward and 10 backward.
// Source:     Transformer Engine pytorch/module/{linear,layernorm_linear}.py, Megatron-LM core/tensor_parallel/layers.py;
//             LoRA: Megatron-Bridge peft/utils.py:ParallelLinearAdapter.
// Valid when: weights are bf16 (or fp16, fp32) with quantised copies beside them.
// Ignores:    bias gradients (a reduction hidden in dgrad), the first quantisation of weights in a step.
// Checked by: tests/block/linear_test.cpp.
#include "block/launches.hpp"
#include "block/linear.hpp"

#include "block/linear_traffic.hpp"

namespace shardfit::block {
namespace {

// Bytes a quantise pass moves for each element (kind: counted from the passes that Transformer Engine's kernels
//   make).
constexpr double kCastPerTensor = 5;        ///< read for the maximum, read, write one copy (Blackwell)
constexpr double kCastPerTensorHopper = 6;  ///< and a transposed copy, which older GEMMs need
constexpr double kCastBlock = 4.1;          ///< read, row and column copies, scales (mxfp8, 128-block)
constexpr double kCastFp4 = 5.2;            ///< second maximum pass, row and column copies

constexpr double kFp32Bytes = 4;  // of an element that torch operations compute in fp32
// Bytes moved by a norm for each element (kind: counted): read and write of bf16; backward input, gradient and its
// sum with the residual's gradient, read twice for the two reductions.
constexpr double kNormForward = 4, kNormBackward = 10;
// Single operations, B an element and launches (kind: counted in Megatron-Bridge models/gemma/modeling_gemma4.py:
// _gemma4_rms_norm): two casts to fp32, square, mean, root, two products, cast back; backward each of them twice.
constexpr double kWrittenForward = 46, kWrittenBackward = 80, kWrittenLaunches = 9;

// Statistics a row: 1/sigma, and the mean of a LayerNorm, fp32.
constexpr double kRmsStatistics = 4, kLayerNormStatistics = 8;

Math math_of_linear(const Linear& l, const Shapes& s) {
  if (l.quantized) return quantized_math(s);
  return s.precision == Precision::fp32 ? Math::fp32 : Math::bf16;
}

void add_gemm(Work& work, const char* name, Pass pass, Math math, double m, double n, double k, double repeats,
              double out_bytes, double accumulate_bytes = 0) {
  Kernel kernel;
  kernel.name = name;
  kernel.kind = KernelKind::gemm;
  kernel.pass = pass;
  kernel.math = math;
  kernel.m = m;
  kernel.n = n;
  kernel.k = k;
  kernel.groups = repeats;
  kernel.out_bytes = out_bytes;
  kernel.accumulate_bytes = accumulate_bytes;
  kernel.launches = repeats * (1 + scale_launches(math));
  work.kernels.push_back(kernel);
}

/// Forward, and the backward GEMMs that `input_grad` and `weight_grad` ask for.
void add_gemms(Op& op, const char* name, Math math, double tokens, double out, double in, const Shapes& s, bool input_grad,
               bool weight_grad, double repeats = 1) {
  add_gemm(op.forward, name, Pass::forward, math, tokens, out, in, repeats, s.e);
  if (input_grad) add_gemm(op.backward, name, Pass::dgrad, math, tokens, in, out, repeats, s.e);
  if (weight_grad) add_gemm(op.backward, name, Pass::wgrad, math, out, in, tokens, repeats, s.grad_bytes, s.grad_bytes);
}

/// The low-rank pair beside a frozen linear, in bf16. Both weights are split over tp whatever the base: A of a column
/// base by its rows (its output is gathered), A of a row base by its input (its output is all-reduced); B by its
/// rows, with a gathered output under a row base.
void add_adapter(Op& op, const Linear& l, const Shapes& s) {
  const int tp = l.split == Split::tensor ? s.tp : 1;
  const std::int64_t rank = s.lora_rank;
  const std::int64_t a_out = l.row_parallel ? rank : rank / tp;
  const std::int64_t b_out = l.row_parallel ? l.out / tp : l.out;
  add_weight(op, "lora_a", ParamGroup::lora, a_out, l.in, l.split, s).trainable = true;
  add_weight(op, "lora_b", ParamGroup::lora, b_out, rank, l.split, s).trainable = true;
  add_host(op.forward, kAdapterForwardCalls, kAdapterLaunches);
  add_host(op.backward, kAdapterBackwardCalls, kAdapterLaunches);
  const Math math = s.precision == Precision::fp32 ? Math::fp32 : Math::bf16;
  add_gemms(op, "lora_a", math, l.tokens, double(a_out), double(l.in), s, s.needs_input_grad, true);
  add_gemms(op, "lora_b", math, l.tokens, double(b_out), double(rank), s, true, true);
  // A of a column base reads the gathered input and keeps it whole; without a gather it is the norm's output itself.
  if (!l.row_parallel && tp > 1 && s.sequence_parallel)
    keep(op, s, "lora_gathered_input", tensor_bytes(l.tokens, double(l.in), s.e));
  keep(op, s, "lora_a_output", tensor_bytes(l.tokens, double(rank), s.e));
  if (tp == 1) return;
  const double low = l.tokens * double(rank) * s.e;
  add_traffic(op.forward, "lora_a", l.row_parallel ? CollectiveKind::all_reduce : CollectiveKind::all_gather, low,
              Hides::nothing);
  add_traffic(op.backward, "lora_a", CollectiveKind::all_reduce, low, Hides::nothing);
  if (!l.row_parallel) return;
  const double full = l.tokens * double(l.out) * s.e;
  add_traffic(op.forward, "lora_b", CollectiveKind::all_gather, full, Hides::nothing);
  op.transients.push_back({"lora_b_output", tensor_bytes(l.tokens, double(l.out), s.e), Moment::forward});
}

/// An output whose readers are all frozen is not kept, whatever it is kept as otherwise.
void keep_norm_output(Op& op, const Shapes& s, double rows, double cols, EnumSet<RecomputeModule> dropped_by, NormOutput output,
                      EnumSet<LinearModule> adapters) {
  const bool copies = is_quantized(s.precision) && trains_base(s);
  switch (output) {
    case NormOutput::not_kept: return;
    case NormOutput::one_linear: keep_linear_input(op, s, "norm_out", rows, cols, dropped_by, {}, adapters); return;
    case NormOutput::two_linears:
      keep_linear_input(op, s, "norm_out", rows, cols, dropped_by, {}, adapters);
      if (copies) keep_linear_input(op, s, "norm_out_second", rows, cols, dropped_by);
      return;
    case NormOutput::shared:
      if (needs_linear_input(s, adapters)) keep(op, s, "norm_out", tensor_bytes(rows, cols, s.e), dropped_by);
      return;
  }
}

}  // namespace

double norm_statistics_width(const Shapes& s) { return s.norm == NormKind::layernorm ? kLayerNormStatistics : kRmsStatistics; }

Op attention_part(const char* name) { return part_op(name, View::attention, GraphScope::attn); }

Linear linear(const char* name, std::int64_t tokens, std::int64_t out, std::int64_t in, Split split) {
  Linear l;
  l.name = name;
  l.tokens = double(tokens);
  l.out = out;
  l.in = in;
  l.split = split;
  return l;
}

Op part_op(const char* name, View view, std::optional<GraphScope> scope) {
  Op op;
  op.name = name;
  op.view = view;
  op.scope = scope;
  return op;
}

Weight& add_weight(Op& op, const char* name, ParamGroup group, std::int64_t rows, std::int64_t cols, Split split,
                   const Shapes& s) {
  Weight w;
  w.name = name;
  w.group = group;
  w.rows = rows;
  w.cols = cols;
  w.split = split;
  w.trainable = trains_base(s);
  op.weights.push_back(w);
  return op.weights.back();
}

void add_linear(Op& op, const Linear& l, const Shapes& layer) {
  const Shapes s = of_module(layer, l.adapter);
  const bool trains = trains_base(s), quantized = l.quantized && is_quantized(s.precision);
  Weight& w = add_weight(op, l.name, l.group, l.out, l.in, l.split, s);
  set_storage(w, l.quantized, quantized, !l.stored_in_bf16 && s.precision == s.run_precision, s);
  w.count = l.repeats;
  if (l.bias) add_weight(op, "bias", l.group, l.out, 1, l.row_parallel ? Split::replicated : l.split, s);
  const double out = double(l.out), in = double(l.in), repeats = double(l.repeats);
  if (quantized && !l.input_already_cast) add_quantize(op.forward, l.name, l.tokens, in * repeats, s);
  add_gemms(op, l.name, math_of_linear(l, s), l.tokens, out, in, s, s.needs_input_grad, trains, repeats);
  if (quantized && (s.needs_input_grad || trains)) add_quantize(op.backward, l.name, l.tokens, out * repeats, s);
  add_host(op.forward, kLinearForwardCalls + quantized * kQuantizedForwardCalls);
  if (s.needs_input_grad || trains)
    add_host(op.backward, kFunctionCalls + (trains ? kHookCalls : 0) + quantized * kQuantizedBackwardCalls);
  if (l.adapter && s.lora_rank > 0 && s.lora_targets.contains(*l.adapter)) add_adapter(op, l, s);
}

void set_storage(Weight& w, bool linear, bool quantized, bool as_run, const Shapes& s) {
  w.linear = quantized && as_run;
  w.bf16_linear = linear && !w.linear;
  if (!quantized || as_run) return;
  const bool per_tensor = s.precision == Precision::fp8_tensorwise || s.precision == Precision::fp8_delayed;
  const bool one_form = per_tensor && s.generation == GpuGeneration::blackwell;
  w.copy_width = linear_input_width(s) * (one_form ? 1 : 2);
}

Math quantized_math(const Shapes& s) {
  const bool emulated = s.precision == Precision::fp8_blockwise && s.generation == GpuGeneration::blackwell;
  return emulated && s.transformer_engine ? Math::mxfp8 : math_of(s.precision);
}

void add_quantize(Work& work, const char* name, double rows, double cols, const Shapes& s) {
  if (!is_quantized(s.precision)) return;
  const bool blocked = s.precision == Precision::mxfp8 || s.precision == Precision::fp8_blockwise;
  Kernel kernel;
  kernel.name = name;
  kernel.kind = KernelKind::quantize;
  kernel.math = math_of(s.precision);
  kernel.fp4_cast = s.precision == Precision::nvfp4;
  const double per_tensor = s.generation == GpuGeneration::blackwell ? kCastPerTensor : kCastPerTensorHopper;
  kernel.bytes = rows * cols * (kernel.fp4_cast ? kCastFp4 : blocked ? kCastBlock : per_tensor);
  kernel.launches = cast_launches(s.precision);
  work.kernels.push_back(kernel);
}

void add_memory(Work& work, const char* name, double bytes, Pass pass) {
  if (bytes <= 0) return;
  Kernel kernel;
  kernel.name = name;
  kernel.kind = KernelKind::memory;
  kernel.pass = pass;
  kernel.bytes = bytes;
  work.kernels.push_back(kernel);
}

void add_host(Work& work, double calls, double kernels) {
  work.host.calls += calls;
  work.host.kernels += kernels;
}

void add_norm_weights(Op& op, const char* name, std::int64_t width, NormKind kind, const Shapes& s, Split split) {
  add_weight(op, name, ParamGroup::norms, width, 1, split, s);
  if (kind == NormKind::layernorm) add_weight(op, "norm_bias", ParamGroup::norms, width, 1, split, s);
}

Op norm_op(const char* name, const Shapes& s, std::int64_t width, EnumSet<RecomputeModule> output_dropped_by,
           std::optional<GraphScope> scope, NormOutput output, EnumSet<LinearModule> adapters) {
  Op op = part_op(name, View::norm, scope);
  op.recomputed_by = output_dropped_by;
  add_norm_weights(op, name, width, s.norm, s);
  const double rows = double(s.stream_tokens), cols = double(width);
  const bool written = s.norms_written_out;
  add_memory(op.forward, name, (written ? kWrittenForward : kNormForward) * rows * cols);
  if (written) add_host(op.forward, 0, kWrittenLaunches);
  if (runs_backward(s)) {
    add_memory(op.backward, name, (written ? kWrittenBackward : kNormBackward) * rows * cols, Pass::dgrad);
    add_host(op.backward, trains_base(s) ? kHookCalls : 0, written ? 2 * kWrittenLaunches : kNormBackwardLaunches);
  }
  if (written) {
    // Two fp32 copies of the input, one for its square and one for the product, and the scaled one for the weight's gradient.
    keep(op, s, "norm_in_fp32", tensor_bytes(rows, cols, 2 * kFp32Bytes));
    if (trains_base(s)) keep(op, s, "norm_scaled", tensor_bytes(rows, cols, kFp32Bytes));
  } else if (s.eager_elementwise) {
    // Written out, a norm keeps its input in fp32 and the scaled input that the weight multiplies.
    keep(op, s, "norm_in_fp32", tensor_bytes(rows, cols, kFp32Bytes));
    keep(op, s, "norm_scaled", tensor_bytes(rows, cols, s.e));
  } else {
    keep(op, s, "norm_in", tensor_bytes(rows, cols, s.e));
  }
  keep(op, s, "norm_statistics", tensor_bytes(rows, 1, norm_statistics_width(s)));
  keep_norm_output(op, s, rows, cols, output_dropped_by, output, adapters);
  return op;
}

}  // namespace shardfit::block
