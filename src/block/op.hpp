// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "block/expert_hits.hpp"
#include "shardfit/base/units.hpp"
#include "shardfit/spec/layout.hpp"
#include "shardfit/spec/precision.hpp"
#include "shardfit/spec/training.hpp"

namespace shardfit::block {

// One list of operations per block kind. An operation states its weights, what it keeps for the backward pass, its
// kernels, its collectives and its host work; memory, traffic and time all read this list, so they cannot disagree.
// All sizes are of one rank and one micro-batch.

/// How a weight lies on the ranks that hold its layer.
enum class Split { replicated, tensor, expert, count };  // expert: over ep and, within an expert, over etp

/// Module groups of published parameter counts (computed_params.groups in models/*.json).
enum class ParamGroup {
  embedding,
  lm_head,
  attention,
  linear_attention,
  mamba,
  dense_mlp,
  router,
  router_correction_bias,
  routed_experts,
  shared_experts,
  latent_projection,
  norms,
  hyper_connections,
  mtp_projection,
  vision_tower,
  vision_merger,
  deepstack_mergers,
  lora,
  count
};

struct Weight {
  const char* name = "";
  ParamGroup group = ParamGroup::attention;
  std::int64_t rows = 0, cols = 1;  ///< of this rank's matrix (Megatron's [out, in]); a vector has cols = 1
  std::int64_t count = 1;           ///< matrices of this shape on the rank (local experts); 0: another
                                    ///< operation holds the matrix that this one multiplies by
  Split split = Split::replicated;
  bool expert = false;  ///< lives in the expert grid: reduced over edp, not dp*cp
  bool linear = false;  ///< multiplied in the run's fp8 or fp4: quantised copies, placeholder gradient
  bool fp32 = false;    ///< stays fp32 in a bf16 model (Mamba's A_log and D)
  bool buffer = false;  ///< no gradient, no optimizer state (router correction bias)
  bool trainable = true;
  bool embedding = false;    ///< word embedding or head (Muon leaves them to Adam; may be tied)
  bool bf16_linear = false;  ///< a linear weight that is stored in bf16 (head, vision tower, layers kept in
                             ///< bf16): a placeholder gradient; `linear` is false for it
  double copy_width = 0;     ///< of a bf16_linear that multiplies in fp8 all the same: B an element of its copies
  std::int64_t elements() const { return rows * cols * count; }
};

/// A tensor kept from forward to backward.
struct Saved {
  const char* name = "";
  Bytes bytes;
  EnumSet<RecomputeModule> dropped_by;   ///< selective modules that free it (and make it again in backward)
  std::optional<OffloadModule> offload;  ///< fine-grained offload scope that moves it to the host
  bool routed = false;                   ///< grows with routing imbalance
};

enum class Moment { forward, backward, count };

/// A tensor that lives only while the operation runs; the dearest moment of a stage adds the largest.
struct Transient {
  const char* name = "";
  Bytes bytes;
  Moment moment = Moment::forward;
  Bytes routed{};  ///< of `bytes`, at balanced routing, the part that grows with imbalance
};

enum class KernelKind { gemm, grouped_gemm, attention, scan, memory, expert_activation, permute, quantize, count };
enum class Pass { forward, dgrad, wgrad, count };

/// One kernel's shape. Which fields count depends on the kind.
struct Kernel {
  const char* name = "";
  KernelKind kind = KernelKind::memory;
  Pass pass = Pass::forward;
  Math math = Math::bf16;
  double m = 0, n = 0, k = 0;     ///< gemm: out[m, n] = in[m, k] x w[k, n]; grouped: m is rows a group
  double groups = 1;              ///< grouped_gemm: local experts; gemm: repeats of the shape
  double out_bytes = 2;           ///< bytes written per output element
  double accumulate_bytes = 0;    ///< bytes read per output element (wgrad into the gradient buffer)
  double flops = 0;               ///< attention (causal half counted) and scan: executed FLOP
  int head_dim = 0;               ///< attention: 0 for MLA
  double effective_sequence = 0;  ///< attention: length that decides its efficiency
  bool fp8 = false;               ///< attention in fp8
  double bytes = 0;               ///< memory, expert_activation, permute, quantize: bytes moved
  bool fp4_cast = false;          ///< quantize: nvfp4 (Hadamard, stochastic rounding)
  double launches = 1;            ///< launches that this entry stands for (casts of each expert, passes)
  double looped = 0;              ///< of those, launches by a loop in C++: the host pays the driver's call alone
};

/// Process groups, by Megatron's names. tp_ep is the dispatcher's group (etp x ep consecutive ranks); cp_a2a and cp_p2p are
/// the inner and the outer level of hierarchical context parallelism.
enum class Group { tp, cp, cp_a2a, cp_p2p, dp_cp, ep, etp, tp_ep, edp, pp, embedding, world, count };
enum class CollectiveKind {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  send_recv,
  broadcast,
  dispatch,
  combine,
  count
};

/// What a collective can run behind.
enum class Hides {
  nothing,         ///< exposed, unless tp_comm overlap chops it up with its GEMM
  gemm,            ///< always behind a GEMM of the same layer (TP gather for wgrad, reduce-scatter of dgrad)
  attention,       ///< CP ring behind attention chunks
  expert_overlap,  ///< exposed, unless combined 1F1B pairs it with another micro-batch
  count
};

/// One collective call. `bytes` is the whole tensor that the group holds together for all_gather, reduce_scatter and
/// all_reduce; what one rank brings for all_to_all, send_recv, dispatch and combine (before de-duplication).
struct Traffic {
  const char* name = "";
  Group group = Group::tp;
  CollectiveKind kind = CollectiveKind::all_gather;
  double bytes = 0;
  double calls = 1;
  Hides hides = Hides::nothing;
  // dispatch and combine only
  double tokens = 0;       ///< T, tokens that the rank brings
  double width_bytes = 0;  ///< bytes of one token
  int top_k = 0, num_experts = 0;
  int replicas = 1;  ///< ranks of the group that hold a part of each expert (etp)
  RoutingLimit limit;
};

/// CPU work of loops that read device values all the time, so that the device idles: exposed, never hidden or graphed.
struct SerialHost {
  double calls = 0, launches = 0;  ///< the latter of kernels, of small operations on the CPU, and two a value read
  double list_us = 0;              ///< us of handling numbers in Python lists, on a host of speed 1
};

/// CPU work of an operation in eager mode beside the launches of its kernels and collectives: calls (of a module's forward,
/// of an autograd function in either direction, of a parameter's gradient hook) and further small launches.
struct HostWork {
  double calls = 0, kernels = 0;
  double syncs = 0;          ///< times the host waits for a device value
  double idle_launches = 0;  ///< of the launches those between a read of a device value, for which the device
                             ///< has run dry, and its next work
  SerialHost serial;
};

struct Work {
  std::vector<Kernel> kernels;
  std::vector<Traffic> traffic;
  HostWork host;
};

/// Where an operation belongs in the module views.
enum class View {
  norm,
  attention,
  linear_attention,
  mamba,
  dense_mlp,
  router,
  dispatch,
  experts,
  combine,
  shared_expert,
  latent,
  embedding,
  head,
  mtp,
  vision_encoder,
  vision_projector,
  residual,
  count
};

struct Op {
  const char* name = "";
  View view = View::attention;
  EnumSet<RecomputeModule> recomputed_by;  ///< selective modules that run this forward again
  std::optional<GraphScope> scope;         ///< TE-scoped CUDA graph that replays it; none: never graphed by scope
  std::vector<Weight> weights;
  std::vector<Saved> saved;
  std::vector<Transient> transients;
  Work forward, backward;
};

using OpList = std::vector<Op>;

}  // namespace shardfit::block

namespace shardfit {
template <>
inline constexpr NameList<block::ParamGroup> kNames<block::ParamGroup> = {
    "embedding",
    "lm_head",
    "attention",
    "linear_attention",
    "mamba",
    "dense_mlp",
    "router",
    "router_correction_bias",
    "routed_experts",
    "shared_experts",
    "latent_projection",
    "norms",
    "hyper_connections",
    "mtp_projection",
    "vision_tower",
    "vision_merger",
    "deepstack_mergers",
    "lora",
};
template <>
inline constexpr NameList<block::Group> kNames<block::Group> = {"tp",  "cp",    "cp_a2a", "cp_p2p", "dp_cp",     "ep",
                                                                "etp", "tp_ep", "edp",    "pp",     "embedding", "world"};
template <>
inline constexpr NameList<block::CollectiveKind> kNames<block::CollectiveKind> = {
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv", "broadcast", "dispatch", "combine"};
template <>
inline constexpr NameList<block::View> kNames<block::View> = {
    "norm",           "attention",        "linear_attention", "mamba",  "dense_mlp", "router", "dispatch",
    "experts",        "combine",          "shared_expert",    "latent", "embedding", "head",   "mtp",
    "vision_encoder", "vision_projector", "residual"};
template <>
inline constexpr NameList<block::KernelKind> kNames<block::KernelKind> = {"gemm",   "grouped_gemm", "attention", "scan",
                                                                          "memory", "permute",      "quantize"};
}  // namespace shardfit
