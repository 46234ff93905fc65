// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "memory/stage_memory.hpp"
#include "shardfit/spec/hardware.hpp"

namespace shardfit::memory {

/// The expert dispatcher's group as its buffers see it.
struct DispatcherInputs {
  Dispatcher dispatcher = Dispatcher::alltoall;
  std::int64_t tokens = 0;   ///< T, tokens that a rank brings (the most of any rank)
  std::int64_t width = 0;    ///< hidden size, or latent size where experts work in one
  int ranks = 1;             ///< etp*ep
  int ranks_per_domain = 1;  ///< of the group, inside one NVLink domain
  int local_experts = 0;
  int sms = 0;  ///< 0: the library's default
};
/// Bytes that DeepEP or HybridEP allocate for themselves; 0 for NCCL dispatchers and a group of one.
Bytes dispatcher_bytes(const DispatcherInputs& in);

/// TP-overlap user buffers (Transformer Engine initialize_ub): one [tokens, hidden] buffer for each
/// overlapped GEMM.
struct UserBufferInputs {
  std::int64_t tokens = 0, hidden = 0;
  int tp = 1;
  bool fp8 = false;        ///< gathered operands travel as one byte
  bool also_bf16 = false;  ///< a second, bf16 set for first and last layers kept in bf16
};
Bytes user_buffer_bytes(const UserBufferInputs& in);

/// What decides how much torch's allocator holds beyond the bytes in use.
struct Fragmentation {
  bool expandable_segments = true;
  bool mixed_sizes = false;     ///< a pipeline or experts: tensors of several sizes come and go out of order
  bool interleaved = false;     ///< vpp above 1: chunks are freed in another order than they were filled
  bool variable_sizes = false;  ///< dropless experts under natural routing: no block fits the next tensor
};
/// Whether bytes that come and go leave holes that nothing fits into: chunks of an interleaved pipeline in fixed segments.
constexpr bool leaves_holes(const Fragmentation& f) { return f.interleaved && !f.expandable_segments; }
/// Reserved over allocated bytes, but for such holes.
double reserve_ratio(const Fragmentation& f);
/// What the allocator holds beyond `allocated`, of which `transient` bytes come and go within a step.
Bytes allocator_reserve(Bytes allocated, Bytes transient, const Fragmentation& f);

/// What a rank holds outside torch's allocated bytes.
struct OutsideInputs {
  Bytes context;                     ///< CUDA context and libraries
  Bytes per_communicator, per_nvls;  ///< NCCL channels; NVLS buffers where a communicator uses them
  int communicators = 0;             ///< process groups of more than one rank
  int nvls_communicators = 0;        ///< of these, the ones with NVLS
  Bytes dispatcher;                  ///< dispatcher_bytes
  Bytes user_buffers;                ///< user_buffer_bytes where TP overlap is on
  Fragmentation fragmentation;
};

/// Bytes of `allocated` that come and go within a step: not state, small terms or gathered units.
Bytes transient_bytes(const StageBase& base, MemoryMoment moment, Bytes allocated);

template <class Acc>
void add_outside(const OutsideInputs& in, Bytes transient, Acc& acc) {
  acc.add(MemoryTerm::allocator_reserve, allocator_reserve(acc.allocated(), transient, in.fragmentation));
  acc.add(MemoryTerm::cuda_context, in.context);
  acc.add(MemoryTerm::nccl_buffers, in.per_communicator * in.communicators + in.per_nvls * in.nvls_communicators);
  acc.add(MemoryTerm::dispatcher_buffers, in.dispatcher);
  acc.add(MemoryTerm::user_buffers, in.user_buffers);
}

/// What is outside torch's allocated bytes, which `acc` has already. Unless the allocator leaves holes, the more is
/// allocated, the more is this, among the moments that graphs reserve the same for (graph_reserve_bytes).
template <class Acc>
void add_outside_of(const StageInputs& stage, const StageEvents& events, const OutsideInputs& outside, MemoryMoment moment,
                    Acc& acc) {
  const bool holes = leaves_holes(outside.fragmentation);
  add_outside(outside, holes ? transient_bytes(events.base, moment, acc.allocated()) : Bytes(0), acc);
  if (stage.graphs.impl != CudaGraphImpl::none)
    acc.add(MemoryTerm::graph_reserve, graph_reserve_bytes(stage.graphs, moment, events.eager));
}

/// Everything that the GPU holds for a rank of the stage: stage_memory, then what is outside torch's
/// allocated bytes. The pool of CUDA graphs is reserved
/// as well.
template <class Acc>
void device_memory(const StageInputs& stage, const StageEvents& events, const OutsideInputs& outside, MemoryMoment moment,
                   Acc& acc) {
  stage_memory(stage, events, moment, acc);
  add_outside_of(stage, events, outside, moment, acc);
}

/// The same for one moment alone.
template <class Acc>
void device_memory(const StageInputs& stage, const OutsideInputs& outside, MemoryMoment moment, Acc& acc) {
  device_memory(stage, StageEvents(stage), outside, moment, acc);
}

}  // namespace shardfit::memory
