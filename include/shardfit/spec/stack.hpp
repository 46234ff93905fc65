// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "shardfit/base/names.hpp"

namespace shardfit {

enum class Framework { megatron, torch_fsdp2, other, count };
template <>
inline constexpr NameList<Framework> kNames<Framework> = {"megatron", "torch_fsdp2", "other"};

/// Which front end filled the defaults that a run leaves out.
enum class EntryPoint { megatron_lm, megatron_bridge, ms_swift, torch_tools, count };
template <>
inline constexpr NameList<EntryPoint> kNames<EntryPoint> = {"megatron_lm", "megatron_bridge", "ms_swift", "torch_tools"};

enum class AttentionKernel { unfused, flash, fused, count };
template <>
inline constexpr NameList<AttentionKernel> kNames<AttentionKernel> = {"unfused", "flash", "fused"};

/// Megatron's dsa_kernel_backend: who runs sparse attention; none: PyTorch, with every score in memory.
enum class DsaKernelBackend { none, tilelang, cudnn, count };
template <>
inline constexpr NameList<DsaKernelBackend> kNames<DsaKernelBackend> = {"none", "tilelang", "cudnn"};

enum class CrossEntropy { unfused, native_fused, te_fused, count };
template <>
inline constexpr NameList<CrossEntropy> kNames<CrossEntropy> = {"unfused", "native_fused", "te_fused"};

/// What the software does beside the layout: a named, dated set of switches. A run may override single ones.
/// The profiles that ship are in stacks/*.json, each with its source.
struct StackProfile {
  std::string name = "megatron-bridge-2026-08", date, source;
  Framework framework = Framework::megatron;
  EntryPoint entry_point = EntryPoint::megatron_bridge;
  AttentionKernel attention_kernel = AttentionKernel::fused;
  DsaKernelBackend dsa_kernel_backend = DsaKernelBackend::cudnn;
  bool dsa_indexer_loss = true;  ///< the indexer of sparse attention trains (dsa_indexer_loss_coeff above 0)
  CrossEntropy cross_entropy = CrossEntropy::native_fused;
  bool attention_mask_in_batch = false;  ///< the data loader makes a [b, s, s] mask
  bool transformer_engine = true;        ///< transformer_impl
  bool grad_accumulation_fusion = true;
  std::optional<bool> placeholder_weight_grads;      ///< none: as grad_accumulation_fusion
  std::optional<double> torch_cublas_workspace_mib;  ///< none: by GPU generation
  std::optional<double> te_workspace_mib;            ///< of layers: a router of local layers has one all the same
  std::optional<double> grouped_gemm_workspace_mib;  ///< none: 4 TE workspaces where experts are grouped
  double resident_microbatches_mib = 0;
  bool grouped_gemm = true, permute_fusion = true, router_fusion = true;
  bool expandable_segments = true;
  bool deferred_embedding_wgrad = false;
  std::optional<int> wgrad_deferral_limit;  ///< micro-batches whose head gradient may wait; none: all of a step
  bool moe_shared_expert_overlap = false;
  bool paged_stash = false;
  double expert_rank_capacity_factor = 0;  ///< 0: none
  bool fused_grouped_mlp = false;
  bool nccl_user_buffers = false;
  bool use_sharp = false;                      ///< data-parallel all-reduces in the InfiniBand switches (--use-sharp)
  bool vision_pads_when_ep = true;             ///< rows padded to full length for EP > 1 too (since 2026-04-13)
  bool vision_dp_when_cp = false;              ///< images split over CP ranks
  bool gradient_sync_every_microbatch = true;  ///< FSDP2 without no_sync
  bool reshard_after_forward = true;
  std::optional<bool> align_param_gather;  ///< interleaved stages gather at once; none: by entry point
  bool chunked_cross_entropy = false;      ///< fused linear cross entropy: logits never whole
  bool parameter_transpose_cache = true;   ///< Hopper keeps fp8 weights transposed too (else made anew in backward)
  bool layerwise_whole_tensors = false;    ///< layer-wise Muon deals out whole tensors (code before 2026-05-21)
  bool eager_loss = false;                 ///< cross entropy of whole fp32 logits as single torch operations
  bool one_hot_loss = false;  ///< its backward makes an int64 one-hot of the vocabulary shard (NeMo-RL before 2025-07-25)
  bool te_fp32_loss_gradient = false;  ///< te_fused writes its gradient in fp32 beside the logits (TE 2.18)
  int deepep_version = 1;              ///< 2: the kernels of DeepEP 2, which take far fewer SMs
  bool eager_elementwise = false;      ///< norms and gated activations as single torch operations (Hugging Face)

  /// Source: Megatron-Bridge training/comm_overlap.py sets it where vpp is above 1; Megatron-LM's flag is off unless given.
  bool aligns_param_gather() const { return align_param_gather.value_or(entry_point == EntryPoint::megatron_bridge); }
};

}  // namespace shardfit
