// SPDX-License-Identifier: Apache-2.0
// Computes:   a linear of all experts of a rank: weights, forward, dgrad and wgrad as grouped GEMMs (or one after the
//             other), casts of quantised runs, one low-rank pair that the experts share.
// Formula:    GEMM m = busiest rank's rows over local experts, groups = local experts; launches one an expert, one in all
//             where the grouped MLP is fused.
// Source:     Transformer Engine pytorch/module/grouped_linear.py, common/gemm/cublaslt_gemm.cu; Megatron-Bridge
//             peft/utils.py (share_expert_adapters).
// Valid when: ep divides the experts, etp their width.
// Ignores:    differences between experts of a rank.
// Checked by: tests/block/moe_test.cpp.
#include "block/expert_linear.hpp"

#include "block/launches.hpp"
#include "block/linear.hpp"

namespace shardfit::block {
namespace {

/// Calls of the experts' module beside the lists' (kind: counted in Transformer Engine pytorch/module/grouped_linear.py).
constexpr double kModuleCalls = 1;

constexpr EnumSet<RecomputeModule> kDroppedByMoe{RecomputeModule::moe};

/// Experts that a grouped linear goes through one by one: a GEMM each on a few streams, a cast each, a weight tensor each
/// with its gradient hook. One kernel takes all where the grouped MLP is fused. Source: Transformer Engine
/// common/gemm/cublaslt_gemm.cu:multi_stream_cublas_gemm, pytorch/csrc/extensions/cast.cpp:multi_tensor_quantize_impl.
double one_by_one(const MoeSizes& z, const Shapes& s) { return s.fused_grouped_mlp ? 1 : double(z.local_experts); }

/// A cast of all experts' rows.
void add_expert_cast(Work& work, const char* name, double columns, const MoeSizes& z, const Shapes& s) {
  if (!is_quantized(s.precision)) return;
  add_quantize(work, name, z.busy_rows, columns, s);
  if (s.precision == Precision::nvfp4) return;  // takes up to 64 at once
  Kernel& cast = work.kernels.back();
  cast.looped = cast.launches * (one_by_one(z, s) - 1);
  cast.launches += cast.looped;
}

Kernel grouped_gemm(const char* name, Pass pass, double n, double k, const MoeSizes& z, const Shapes& s) {
  Kernel kernel;
  kernel.name = name;
  kernel.kind = KernelKind::grouped_gemm;
  kernel.pass = pass;
  kernel.math = quantized_math(s);
  kernel.m = z.rows_per_expert();
  kernel.n = n;
  kernel.k = k;
  kernel.groups = double(z.local_experts);
  const bool together = s.grouped_gemm && kernel.math == math_of(s.precision);  // emulated blocks: each tensor alone
  kernel.launches = one_by_one(z, s) + (together ? 1 : one_by_one(z, s)) * scale_launches(kernel.math);
  kernel.out_bytes = s.e;
  if (pass == Pass::wgrad) kernel.out_bytes = kernel.accumulate_bytes = s.grad_bytes;
  if (s.grouped_gemm) return kernel;
  kernel.kind = KernelKind::gemm;  // one expert after the other: plain GEMMs, whose wgrad contracts over the rows
  if (pass == Pass::wgrad) {
    kernel.m = n;
    kernel.n = k;
    kernel.k = z.rows_per_expert();
  }
  return kernel;
}

Weight expert_weight(const char* name, ParamGroup group, std::int64_t rows, std::int64_t cols, std::int64_t count) {
  Weight w;
  w.name = name;
  w.group = group;
  w.rows = rows;
  w.cols = cols;
  w.count = count;
  w.split = Split::expert;
  w.expert = true;
  return w;
}

Kernel adapter_gemm(const char* name, Pass pass, double m, double n, double k, const Shapes& s) {
  Kernel kernel;
  kernel.name = name;
  kernel.kind = KernelKind::gemm;
  kernel.pass = pass;
  kernel.math = s.precision == Precision::fp32 ? Math::fp32 : Math::bf16;
  kernel.m = m;
  kernel.n = n;
  kernel.k = k;
  kernel.out_bytes = s.e;
  if (pass == Pass::wgrad) kernel.out_bytes = kernel.accumulate_bytes = s.grad_bytes;
  return kernel;
}

/// One low-rank pair that all local experts share.
void add_shared_adapter(Op& op, std::int64_t out, std::int64_t in, bool input_grad, const MoeSizes& z, const Shapes& s) {
  const std::int64_t rank = s.lora_rank;
  op.weights.push_back(expert_weight("lora_a", ParamGroup::lora, rank, in, 1));
  op.weights.push_back(expert_weight("lora_b", ParamGroup::lora, out, rank, 1));
  const double rows = z.busy_rows, r = double(rank), o = double(out), i = double(in);
  op.forward.kernels.push_back(adapter_gemm("lora_a", Pass::forward, rows, r, i, s));
  op.forward.kernels.push_back(adapter_gemm("lora_b", Pass::forward, rows, o, r, s));
  op.backward.kernels.push_back(adapter_gemm("lora_b", Pass::dgrad, rows, r, o, s));
  op.backward.kernels.push_back(adapter_gemm("lora_b", Pass::wgrad, o, r, rows, s));
  if (input_grad) op.backward.kernels.push_back(adapter_gemm("lora_a", Pass::dgrad, rows, i, r, s));
  op.backward.kernels.push_back(adapter_gemm("lora_a", Pass::wgrad, r, i, rows, s));
  keep(op, s, "lora_a_output", tensor_bytes(z.rows, r, s.e), kDroppedByMoe);
}

}  // namespace

void add_expert_linear(Op& op, const ExpertLinear& l, const MoeSizes& z, const Shapes& layer) {
  const Shapes s = of_module(layer, l.adapter);
  Weight w = expert_weight(l.name, ParamGroup::routed_experts, l.out, l.in, z.local_experts);
  set_storage(w, true, is_quantized(s.precision), s.precision == s.run_precision, s);
  w.trainable = trains_base(s);
  op.weights.push_back(w);
  if (l.bias) {
    w = expert_weight("expert_bias", ParamGroup::routed_experts, l.out, 1, z.local_experts);
    w.trainable = trains_base(s);
    op.weights.push_back(w);
  }
  const double out = double(l.out), in = double(l.in);
  if (l.casts_input) add_expert_cast(op.forward, l.name, in, z, s);
  op.forward.kernels.push_back(grouped_gemm(l.name, Pass::forward, out, in, z, s));
  if (!runs_backward(s)) return;
  if (l.casts_output_grad) add_expert_cast(op.backward, l.name, out, z, s);
  if (l.input_grad) op.backward.kernels.push_back(grouped_gemm(l.name, Pass::dgrad, in, out, z, s));
  if (trains_base(s)) op.backward.kernels.push_back(grouped_gemm(l.name, Pass::wgrad, out, in, z, s));
  if (s.lora_rank > 0 && s.lora_targets.contains(l.adapter)) add_shared_adapter(op, l.out, l.in, l.input_grad, z, s);
}

void add_expert_linear_host(Op& op, LinearModule module, const MoeSizes& z, const Shapes& layer) {
  const Shapes s = of_module(layer, module);
  const double each = one_by_one(z, s), quantized = is_quantized(s.precision) ? each : 0;
  add_host(op.forward, kModuleCalls + kLinearForwardCalls + quantized * kQuantizedForwardCalls);
  if (!runs_backward(s)) return;
  add_host(op.backward, kFunctionCalls + (trains_base(s) ? kHookCalls * each : 0) + quantized * kQuantizedBackwardCalls);
}

}  // namespace shardfit::block
