// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "block/op.hpp"
#include "block/shapes.hpp"

namespace shardfit::block {

/// One linear layer as it runs on a rank: out = in x W^T, [tokens, in] x [in, out].
struct Linear {
  const char* name = "";
  ParamGroup group = ParamGroup::attention;
  double tokens = 0;
  std::int64_t out = 0, in = 0;  ///< widths on this rank
  Split split = Split::tensor;
  bool bias = false;
  bool quantized = true;                ///< runs in the layer's precision; false: always in bf16 (router, head)
  bool input_already_cast = false;      ///< shares the quantised input of a linear before it
  bool row_parallel = false;            ///< `in` is the split width; else `out` is (only with Split::tensor)
  std::int64_t repeats = 1;             ///< matrices of this shape side by side, each with its own input (block-diagonal)
  std::optional<LinearModule> adapter;  ///< the name by which LoRA or a quant_recipe may mean it
  bool stored_in_bf16 = false;  ///< built outside the run's fp8 parameters: a bf16 weight with quantised copies beside it
};

/// An empty operation.
Op part_op(const char* name, View view, std::optional<GraphScope> scope);
/// One of a mixer of the attention view and scope.
Op attention_part(const char* name);

/// out[tokens, out], from `in` columns; sizes of one rank.
Linear linear(const char* name, std::int64_t tokens, std::int64_t out, std::int64_t in, Split split);

/// Adds a weight that is no linear layer's; it trains as the layer does.
Weight& add_weight(Op& op, const char* name, ParamGroup group, std::int64_t rows, std::int64_t cols, Split split,
                   const Shapes& shapes);

/// Adds to `op`: the weight (and bias), forward and backward kernels, and their casts. dgrad only where something
/// upstream trains, wgrad only where the weight does. Formula: forward [N, out] += k = in; dgrad [N, in], k = out;
/// wgrad [out, in], k = N, read and written at the gradient buffer's width. Source: Transformer Engine
/// pytorch/module/linear.py. Ignores: bias gradients (a reduction hidden in dgrad). With LoRA an `adapter` linear
/// also gets its two low-rank weights, their kernels, kept inputs and gathers. The linear's own input is not added to
/// `saved`: whoever makes that tensor does, see `linear_input`.
void add_linear(Op& op, const Linear& linear, const Shapes& shapes);

/// Says how a linear's weight is stored: in the run's own quantised form (`as_run`), or in bf16, with quantised copies
/// where it multiplies in fp8 or fp4 all the same (one form for per-tensor fp8 on Blackwell, else by rows and by columns).
void set_storage(Weight& weight, bool linear, bool quantized, bool as_run, const Shapes& shapes);

/// Tensor-core arithmetic of quantised products. cuBLASLt has no 128-blocks from Blackwell on: Transformer Engine runs them
/// as mxfp8 there, with the scales of both operands rewritten before each product, tensor by tensor. Source: Transformer
/// Engine pytorch/csrc/extensions/gemm.cpp (convert_block_scaling_to_mxfp8_tensor).
Math quantized_math(const Shapes& shapes);

/// Adds a quantise pass of a [rows, cols] bf16 tensor to `work`: nothing for bf16. Bytes an element: per-tensor
/// current scaling 5 (6 on Hopper: no transpose-free GEMM), mxfp8 and 128-block 4.1, nvfp4 5.2.
void add_quantize(Work& work, const char* name, double rows, double cols, const Shapes& shapes);

/// Adds a memory-bound kernel that moves `bytes`.
void add_memory(Work& work, const char* name, double bytes, Pass pass = Pass::forward);

/// Adds host work beside that of the lists: calls and launches.
void add_host(Work& work, double calls, double kernels = 0);

/// What a norm's output is kept as.
enum class NormOutput {
  one_linear,   ///< the input of one quantisable linear (a norm fused before it)
  two_linears,  ///< read by two linears that quantise for themselves: one tensor in bf16, two copies if quantised
  shared,       ///< in the activation type: several readers, or one in bf16 (router, head)
  not_kept      ///< its reader needs nothing for backward (a norm before a residual add)
};

/// A norm, an operation of its own or fused before a linear: weights, kept input and statistics (4 B a row for
/// RMSNorm, 8 for LayerNorm), kept output. `output_dropped_by`: modules that drop the output and run the norm
/// again. No host work and no residual add: who knows the module adds them. `adapters`: LoRA targets that read the
/// output.
Op norm_op(const char* name, const Shapes& shapes, std::int64_t width, EnumSet<RecomputeModule> output_dropped_by,
           std::optional<GraphScope> scope, NormOutput output = NormOutput::one_linear, EnumSet<LinearModule> adapters = {});

/// Adds the parameters of one norm: a weight, and a bias for LayerNorm.
void add_norm_weights(Op& op, const char* name, std::int64_t width, NormKind kind, const Shapes& shapes,
                      Split split = Split::replicated);

/// Whether the layer's own weights get gradients (LoRA freezes them).
constexpr bool trains_base(const Shapes& s) { return s.train_weights && s.lora_rank == 0; }

/// Whether a backward pass runs through the layer at all; if not, nothing is kept.
constexpr bool runs_backward(const Shapes& s) { return s.needs_input_grad || s.train_weights || s.lora_rank > 0; }

/// Bytes an element of the copy of its input that a quantisable linear keeps for its weight gradient: the activation
/// type, or 1 (per-tensor fp8), 1 + 1/32 (mxfp8), 1 + 4/128 (128-block), 0.5 + 1/16 (nvfp4).
double linear_input_width(const Shapes& shapes);
/// The same of the linear that reads it, where a quant_recipe gives one of `readers` a precision of its own.
double linear_input_width(const Shapes& shapes, EnumSet<LinearModule> readers);

/// Bytes a row of a norm's statistics: 1/sigma, and the mean of a LayerNorm, fp32.
double norm_statistics_width(const Shapes& shapes);

/// A tensor of [rows, cols] elements of `width` bytes.
constexpr Bytes tensor_bytes(double rows, double cols, double width) {
  return Bytes(static_cast<std::int64_t>(rows * cols * width));
}

/// Keeps a tensor for backward, unless there is none. `dropped_by` and `offload` as in `Saved`.
void keep(Op& op, const Shapes& shapes, const char* name, Bytes bytes, EnumSet<RecomputeModule> dropped_by = {},
          std::optional<OffloadModule> offload = {});

/// Keeps the input of a linear for its weight gradient. Frozen weights keep none, but an adapter among `adapters`
/// that the run trains keeps it in bf16.
void keep_linear_input(Op& op, const Shapes& shapes, const char* name, double rows, double cols,
                       EnumSet<RecomputeModule> dropped_by = {}, std::optional<OffloadModule> offload = {},
                       EnumSet<LinearModule> adapters = {});

/// Whether the weight of a linear, or an adapter among `adapters`, trains and so needs the linear's input.
constexpr bool needs_linear_input(const Shapes& s, EnumSet<LinearModule> adapters) {
  return trains_base(s) || (s.lora_rank > 0 && s.lora_targets.intersects(adapters));
}

/// Keeps the bf16 input of a linear that quantises it again in backward (attention's output projection): no copy.
void keep_reference_input(Op& op, const Shapes& shapes, const char* name, double rows, double cols,
                          EnumSet<LinearModule> adapters);

/// Delayed scaling cannot quantise again: the output projection keeps an fp8 copy beside the bf16 tensor.
void keep_delayed_copy(Op& op, const Shapes& shapes, double rows, double cols);

/// Tensor-parallel traffic before a column-parallel linear whose whole input is [N, width]. With sequence
/// parallelism: gather forward (exposed), gather again for wgrad and reduce-scatter of the input's gradient (both
/// behind GEMMs), with the gathered tensor as a transient of both passes.
/// Without: all-reduce of the input's gradient (behind wgrad). Source: Megatron-LM core/tensor_parallel/layers.py.
void add_column_traffic(Op& op, const Shapes& shapes, double width, bool quantized = true);

/// Tensor-parallel traffic after a row-parallel linear whose whole output is [N, width]: reduce-scatter forward and
/// gather of the output's gradient backward, both exposed; without sequence parallelism an all-reduce forward.
void add_row_traffic(Op& op, const Shapes& shapes, double width);

}  // namespace shardfit::block
