// SPDX-License-Identifier: Apache-2.0
#include "memory/outside.hpp"

#include <algorithm>
#include <iterator>

// Computes:   device bytes outside torch's allocated ones.
// Formula:    written at each function.
// Source:     DeepEP csrc/legacy/config.hpp; DeepEP branch hybrid-ep, csrc/hybrid_ep; Transformer Engine
//             pytorch/module/base.py:initialize_ub; NCCL per communicator and context from the hardware
//             files.
// Valid when: one dispatcher buffer a process, which all layers share.
// Ignores:    NVSHMEM's own heap; queue counters of DeepEP (under 20 KB); larger buffers of ring-exchange
//             reduce-scatter.
// Checked by: tests/memory/outside_test.cpp.

namespace shardfit::memory {

namespace {

// DeepEP (intranode and normal internode kernels). Source: DeepEP csrc/legacy/config.hpp,
// deep_ep/buffers/legacy.py; Megatron-LM core/transformer/moe/fused_a2a.py:get_buffer. Kind: read.
constexpr int kDeepepSms = 20, kDeepepRanksPerNode = 8;
constexpr std::int64_t kRdmaSlots = 128, kSourceMetaBytes = 8, kRdmaHeaderBytes = 16;
/// The buffer reserves 128 top-k entries (an 8-byte index and an fp32 weight) and 128 fp32 scales a token.
constexpr std::int64_t kReservedTopK = 128, kReservedScales = 128;
constexpr std::int64_t kFp32 = 4, kIndexBytes = 8, kBf16 = 2;
/// Token slots of a channel and NVLink peer by group size: the library's tuned table, larger of dispatch and
/// combine.
struct NvlSlots {
  int up_to_ranks;
  std::int64_t slots;
};
constexpr NvlSlots kNvlSlots[] = {{8, 256}, {64, 288}, {96, 480}, {128, 560}, {160, 720}};

// HybridEP. Source: DeepEP branch hybrid-ep, buffer allocation. Kind: read.
constexpr std::int64_t kScaleBlock = 128;
constexpr std::int64_t kInterDomainStages = 3;

// TP overlap: qkv, proj, fc1, fc2 x fprop, dgrad, wgrad; the gathering ones may travel as fp8. Source:
// Transformer Engine initialize_ub. Kind: read.
constexpr std::int64_t kOverlappedGemms = 12, kGatheringGemms = 8;

/// Reserved over allocated less 1, default allocator. Source: 21 runs of SimuMax on B200, all ranks: dense without
/// pipeline 0.023 to 0.038, pipeline or experts 0.040 to 0.069. Kind: fitted
/// (so that the reserved figures of these runs are no test of it).
constexpr double kReserve = 0.03, kReserveMixed = 0.025;
/// Of sizes that change with every micro-batch. Source: Megatron-Bridge snapshots of dropless MoE, which reach 1.18.
/// Kind: assumed.
constexpr double kReserveVariable = 0.05;
/// Holes over the bytes that come and go, of interleaved chunks. Source: a Llama-70B fine-tuning run with vpp 5, of which 3
/// to 6 of 10 starts end at 54.8 GiB allocated of 79, would have 0.75; published runs of NVIDIA with vpp and without
/// expandable segments (before 2026-05-12) leave no room for more than 0.15. Kind: assumed, the most that they allow.
constexpr double kInterleavedHoles = 0.15;
/// Expandable segments give back pages and need no block of the right size; what is left is tails of 2 MiB pages and
/// memory that another stream still uses. Source: a Megatron-Bridge run of Qwen3-30B with 57 GiB inactive has none with
/// expandable segments. Kind: measured once; assumed for sizes.
constexpr double kReserveExpandable = 0.003, kReserveExpandableVariable = 0.02;

std::int64_t deepep_token_bytes(const DispatcherInputs& in) {
  return in.width * kBf16 + kSourceMetaBytes + kReservedTopK * (kIndexBytes + kFp32) + kReservedScales * kFp32;
}

std::int64_t nvl_slots(int ranks) {
  for (const NvlSlots& row : kNvlSlots)
    if (ranks <= row.up_to_ranks) return row.slots;
  return std::end(kNvlSlots)[-1].slots;  // larger groups are refused by a layout rule
}

/// channels x peers x slots x token, for NVLink peers and, across nodes, twice for RDMA peers.
Bytes deepep_bytes(const DispatcherInputs& in) {
  const std::int64_t channels = (in.sms > 0 ? in.sms : kDeepepSms) / 2;
  const std::int64_t token = deepep_token_bytes(in);
  const std::int64_t peers = std::min(in.ranks, kDeepepRanksPerNode);
  const std::int64_t nvl = channels * peers * nvl_slots(in.ranks) * token;
  const std::int64_t nodes = in.ranks / kDeepepRanksPerNode;
  const std::int64_t rdma = nodes > 1 ? 2 * channels * nodes * kRdmaSlots * (token + kRdmaHeaderBytes) : 0;
  return Bytes(nvl + rdma);
}

/// T tokens of every rank of the group, [T*ranks, h], with routing and scales; the routing map of all experts, for a gather
/// of its own that is allocated whether it runs or not (csrc/hybrid_ep/extension/allgather.cu, since 2026-01-20); across
/// domains a staging area more.
Bytes hybridep_bytes(const DispatcherInputs& in) {
  const std::int64_t domains = std::max(1, in.ranks / std::max(1, in.ranks_per_domain));
  const std::int64_t rows = in.tokens * in.ranks;
  const std::int64_t area = rows * in.width * kBf16;
  const std::int64_t probabilities = rows * in.local_experts * in.ranks_per_domain * kFp32;
  const std::int64_t scales = rows * (in.width / kScaleBlock) * kFp32;
  const std::int64_t routing_map = rows * in.local_experts * in.ranks;  // a byte each
  const std::int64_t across = (1 + kInterDomainStages * (domains - 1)) * in.tokens * in.width * kBf16;
  return Bytes(area + probabilities + scales + routing_map + (domains > 1 ? across : 0));
}

}  // namespace

Bytes dispatcher_bytes(const DispatcherInputs& in) {
  if (in.ranks <= 1) return Bytes(0);
  if (in.dispatcher == Dispatcher::deepep) return deepep_bytes(in);
  if (in.dispatcher == Dispatcher::hybridep) return hybridep_bytes(in);
  return Bytes(0);
}

Bytes user_buffer_bytes(const UserBufferInputs& in) {
  if (in.tp <= 1) return Bytes(0);
  const std::int64_t elements = in.tokens * in.hidden;
  const std::int64_t bf16_set = kOverlappedGemms * elements * kBf16;
  const std::int64_t fp8_set = bf16_set - kGatheringGemms * elements;
  if (!in.fp8) return Bytes(bf16_set);
  return Bytes(in.also_bf16 ? fp8_set + bf16_set : fp8_set);
}

double reserve_ratio(const Fragmentation& f) {
  if (f.expandable_segments) return 1 + kReserveExpandable + (f.variable_sizes ? kReserveExpandableVariable : 0);
  return 1 + kReserve + (f.mixed_sizes ? kReserveMixed : 0) + (f.variable_sizes ? kReserveVariable : 0);
}

Bytes allocator_reserve(Bytes allocated, Bytes transient, const Fragmentation& f) {
  const double holes = leaves_holes(f) ? kInterleavedHoles * double(transient.value) : 0;
  return rounded_bytes(double(allocated.value) * (reserve_ratio(f) - 1) + holes);
}

Bytes transient_bytes(const StageBase& base, MemoryMoment moment, Bytes allocated) {
  const FsdpBuffers& gathered = base.fsdp.at(moment == MemoryMoment::first_step ? MemoryMoment::backward : moment);
  const Bytes stays = base.state[moment] + gathered.unsharded_weights + gathered.unreduced_gradients;
  return std::max(Bytes(0), allocated - stays);
}

}  // namespace shardfit::memory
