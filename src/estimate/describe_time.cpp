// SPDX-License-Identifier: Apache-2.0
#include "estimate/describe.hpp"

namespace shardfit {
namespace {

constexpr const char* kStudy = "coefficients: hardware/step-time.json; kernel curves: hardware/<cluster>.json";

constexpr EnumArray<TimeTerm, TermWords> kWords{{{
    {"matrix products of linear layers",
     "t0 + |FLOP/rate * (1 + w(waves-1)) * (1 + k0/k), bytes/(0.85 HBM)|_3, forward + dgrad + wgrad", kStudy,
     "rates that differ by transposition"},
    {"grouped matrix products of the experts", "as gemm with (1 + m0/rows) for short groups", kStudy,
     "uneven rows within a rank"},
    {"attention kernels", "t0 + FLOP/rate * (1 + s0/s); backward 2.5 times the FLOP", kStudy, "tile effects of short windows"},
    {"recurrent scans (Mamba-2, gated DeltaNet)", "chunked FLOP / scan rate", kStudy, "dependence on head size"},
    {"norms, residuals, rotary, activations, permutes, cross entropy", "bytes / (HBM * reached fraction)", kStudy,
     "cache hits"},
    {"casts to fp8 and fp4", "bytes / (HBM * reached fraction)", kStudy, "casts fused into norms"},
    {"device idle between kernels", "launches * gap; 0.4 of it in a CUDA graph", kStudy, "gaps that overlap copies"},
    {"forward work that backward runs again", "the covered operations' forward", "Megatron-LM core/tensor_parallel/random.py",
     "-"},
    {"tensor-parallel collectives that nothing hides",
     "all-gather and reduce-scatter of [N, h]; what outlasts the product beside it; under tp_comm overlap a tp-th of the "
     "shorter too",
     "Megatron-LM core/tensor_parallel/layers.py", "-"},
    {"expert dispatch and combine", "max(NVLink bytes, NIC bytes over their rates) + latency, less what expert overlap hides",
     "Megatron-LM core/transformer/moe/token_dispatcher.py; DeepEP", "contention between groups in one domain"},
    {"context-parallel exchanges that nothing hides", "all-to-all or gather of q, k, v; of a ring what outlasts attention",
     "Transformer Engine context_parallel.py", "merge kernels"},
    {"compute slowed by traffic behind it", "hidden seconds * slowdown coefficient", kStudy, "which resource is shared"},
    {"device waiting for the host to read row counts, and serial host loops",
     "4 calls and a launch a dropless dispatch; calls, launches and list entries of vision host loops", kStudy, "-"},
    {"host time that the device cannot hide", "soft maximum of host and device, less the device", kStudy,
     "Python garbage collection"},
    {"vision tower and projector with waits for the slowest rank",
     "serial + soft_max(device * wait, launches), both directions", "Megatron-Bridge models/qwen_vl",
     "text-only micro-batches"},
    {"transfers between pipeline stages", "sender waits without interleaving", "Megatron-LM core/pipeline_parallel", "-"},
    {"stages waiting for one another", "fill and drain around the slowest stage",
     "Megatron-LM core/pipeline_parallel/schedules.py", "-"},
    {"gradient reduction and parameter gather that nothing hides",
     "by stage, what reductions outlast the last backward, and gathers delay the first forward",
     "Megatron-LM core/distributed, core/pipeline_parallel/schedules.py",
     "stages slower than the rest absorbing delays of others"},
    {"optimizer step", "bytes of state, gradients and parameters / (HBM * reached fraction)", "Megatron-LM core/optimizer",
     "-"},
    {"host copies of offloaded activations beyond what GEMMs hide", "bytes / host link",
     "Megatron-LM fine_grained_activation_offload.py", "-"},
    {"fixed cost of a step", "a constant", kStudy, "checkpointing, evaluation"},
}}};

}  // namespace

const TermWords& words_of(TimeTerm term) { return kWords[term]; }

}  // namespace shardfit
