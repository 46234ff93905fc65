// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "shardfit/base/names.hpp"

namespace shardfit {

/// What the data-parallel ranks split: nothing, optimizer state (Megatron's distributed optimizer), gradients too, or
/// parameters too (Megatron-FSDP; torch FSDP2 = full_torch). layerwise: Muon's optimizer, whole matrices a rank.
enum class Sharding { none, optimizer, optimizer_grads, full, full_torch, layerwise, count };
template <>
inline constexpr NameList<Sharding> kNames<Sharding> = {"none", "optimizer",  "optimizer_grads",
                                                        "full", "full_torch", "layerwise"};

/// Megatron's recompute_granularity, recompute_modules and recompute_method.
enum class RecomputeGranularity { none, selective, full, count };
template <>
inline constexpr NameList<RecomputeGranularity> kNames<RecomputeGranularity> = {"none", "selective", "full"};
enum class RecomputeModule { core_attn, moe_act, layernorm, mla_up_proj, mlp, moe, shared_experts, gdn_norm_out, count };
template <>
inline constexpr NameList<RecomputeModule> kNames<RecomputeModule> = {"core_attn", "moe_act", "layernorm",      "mla_up_proj",
                                                                      "mlp",       "moe",     "shared_experts", "gdn_norm_out"};
enum class RecomputeMethod { uniform, block, count };
template <>
inline constexpr NameList<RecomputeMethod> kNames<RecomputeMethod> = {"uniform", "block"};

struct Recompute {
  RecomputeGranularity granularity = RecomputeGranularity::none;
  EnumSet<RecomputeModule> modules;                   ///< selective only
  RecomputeMethod method = RecomputeMethod::uniform;  ///< full only
  int num_layers = 1;                                 ///< full only: layers a group (uniform) or layers a chunk (block)
  friend bool operator==(const Recompute&, const Recompute&) = default;
};

enum class Dispatcher { allgather, alltoall, deepep, hybridep, count };
template <>
inline constexpr NameList<Dispatcher> kNames<Dispatcher> = {"allgather", "alltoall", "deepep", "hybridep"};

enum class CpCommType { p2p, a2a, all_gather, a2a_p2p, count };
template <>
inline constexpr NameList<CpCommType> kNames<CpCommType> = {"p2p", "a2a", "all_gather", "a2a+p2p"};

enum class CudaGraphImpl { none, local, transformer_engine, full_iteration, count };
template <>
inline constexpr NameList<CudaGraphImpl> kNames<CudaGraphImpl> = {"none", "local", "transformer_engine", "full_iteration"};
enum class GraphScope { attn, mlp, moe, moe_router, moe_preprocess, mamba, count };
template <>
inline constexpr NameList<GraphScope> kNames<GraphScope> = {"attn", "mlp", "moe", "moe_router", "moe_preprocess", "mamba"};

struct CudaGraph {
  CudaGraphImpl impl = CudaGraphImpl::none;
  EnumSet<GraphScope> scopes;  ///< transformer_engine, and local with scopes; empty otherwise
  friend bool operator==(const CudaGraph&, const CudaGraph&) = default;
};

struct Overlap {
  bool grad_reduce = true, param_gather = true, tp_comm = false, expert_alltoall = false, delay_wgrad = false;
  friend bool operator==(const Overlap&, const Overlap&) = default;
};

enum class OffloadModule { core_attn, attn_proj, expert_fc1, fused_group_mlp, moe_act, attn_norm, mlp_norm, qkv_linear, count };
template <>
inline constexpr NameList<OffloadModule> kNames<OffloadModule> = {"core_attn", "attn_proj", "expert_fc1", "fused_group_mlp",
                                                                  "moe_act",   "attn_norm", "mlp_norm",   "qkv_linear"};

struct Offload {
  double optimizer_fraction = 0;              ///< of master weights and moments, to host memory
  EnumSet<OffloadModule> activation_modules;  ///< fine-grained
  int activation_layers = 0;                  ///< layer-level cpu_offloading: layers whose activations go to the host
  friend bool operator==(const Offload&, const Offload&) = default;
};

/// How decoder layers fall on pipeline chunks.
enum class SplitKind { uniform, first_last, accounting, layout_string, hybrid_pattern, count };
template <>
inline constexpr NameList<SplitKind> kNames<SplitKind> = {"uniform", "first_last", "accounting", "layout_string",
                                                          "hybrid_pattern"};

struct PipelineSplit {
  SplitKind kind = SplitKind::uniform;
  int first_stage_layers = 0, last_stage_layers = 0;             ///< first_last; 0: as the middle stages
  bool account_for_embedding = false, account_for_loss = false;  ///< accounting
  std::string text;  ///< layout_string: Megatron's "Et*4|(t*4|)*14tmL"; hybrid_pattern: "M-M*|..."
  friend bool operator==(const PipelineSplit&, const PipelineSplit&) = default;
};

/// Members of the outer ring of cp_comm_type a2a+p2p; cp over it exchange heads inside. Megatron-Core asks for
/// hierarchical_context_parallel_sizes; two outer groups are assumed where cp allows (else its smallest divisor).
constexpr int hierarchical_cp_ring(int cp) {
  for (int q = 2; q < cp; ++q)
    if (cp % q == 0) return q;
  return cp;
}

/// One way to lay a training run out on a cluster. Axes are Megatron's; dp and edp follow from the GPU count.
struct Layout {
  int tp = 1, cp = 1, pp = 1, vpp = 1, ep = 1, etp = 1;
  int micro_batch_size = 1;
  bool sequence_parallel = false;
  bool use_tp_pp_dp_mapping = false;  ///< ranks in the order tp-cp-ep-pp-dp in place of tp-cp-ep-dp-pp
  Sharding sharding = Sharding::optimizer;
  int optimizer_instances = 1;  ///< above 1: HSDP
  bool fsdp_double_buffer = false;
  Recompute recompute;
  PipelineSplit split;
  int microbatch_group_size = 0;  ///< VPP; 0: pp
  Dispatcher dispatcher = Dispatcher::alltoall;
  int dispatcher_sms = 0;  ///< 0: the library's default
  CpCommType cp_comm_type = CpCommType::p2p;
  CudaGraph cuda_graph;
  Overlap overlap;
  Offload offload;
};

/// The parallel sizes that follow: dense grid W = tp*cp*dp*pp, expert grid W = etp*ep*edp*pp. Integer only for layouts
/// that pass the grid rules.
struct GridSizes {
  int gpus = 1, dp = 1, edp = 1;
  int microbatches = 1;  ///< per step and data-parallel replica
};

}  // namespace shardfit
