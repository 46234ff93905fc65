// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "memory/fsdp.hpp"
#include "memory/graphs.hpp"
#include "memory/profiles.hpp"
#include "memory/rounding.hpp"
#include "memory/small_terms.hpp"
#include "memory/static_state.hpp"

// Computes:   bytes that torch has allocated on one pipeline stage at one moment, by term.
// Formula:    forward  = base + live layers + max(loss, forward transient); backward = base + live layers +
//             recomputed tensors + backward transient, or what is left when the unwound chunk reaches its
//             embedding. base = weights, gradients, optimizer state, workspaces, placeholders; between
//             steps also the fp32 gradient copy and the kept p2p tensors, which the next forward replaces.
// Source:     Megatron-LM core/pipeline_parallel/schedules.py, core/optimizer/optimizer.py; golden memory
//             values of its functional tests and SimuMax's B200 runs.
// Valid when: live counts come from the schedule table of this stage.
// Ignores:    512-byte rounding of the allocator; the order of frees inside one operation.
// Checked by: tests/memory/stage_memory_test.cpp.

namespace shardfit::memory {

/// The layers of one kind and one treatment (kept whole, or checkpointed) on a stage.
struct LiveLayers {
  const ActivationProfile* profile = nullptr;
  std::int64_t live = 0;       ///< copies of `profile` alive: layers (or checkpoints) x live micro-batches
  std::int64_t unwinding = 0;  ///< of these, the ones of the micro-batch and chunk that runs backward
  std::int64_t on_host = 0;    ///< of these, whole layers that layer-level offload moved to the host
};

/// What a stage holds whatever its layers do: sums of state, small terms and FSDP's buffers by moment.
struct StageBase {
  StageBase() = default;
  StageBase(const StaticState& state, const SmallTerms& small, const FsdpInputs& fsdp);
  EnumArray<MemoryMoment, Bytes> state{};  ///< state and small terms that exist at a moment
  FsdpMoments fsdp;
};

/// Everything that decides a stage's allocated bytes. A plain value: the pointers and spans are the caller's
/// tables.
struct StageInputs {
  StaticState state;
  SmallTerms small;
  std::span<const LiveLayers> layers;
  const ActivationProfile* embedding = nullptr;  ///< stages that embed tokens
  const ActivationProfile* vision = nullptr;     ///< tower and projector together, folded into saved_vision
  std::int64_t first_chunk_live = 0;             ///< live micro-batches of the chunk that embeds (and sees images)
  const ActivationProfile* mtp = nullptr;        ///< one depth with its logits, folded into saved_mtp
  int mtp_depths = 0;
  const ActivationProfile* head = nullptr;  ///< where the loss is computed; its transients are the logits
  Bytes deferred_head;                      ///< deferred_head_bytes, if the stack defers
  Bytes stream;                             ///< one tensor of the residual stream
  Bytes pipeline_buffers;                   ///< pipeline_buffer_bytes on the last stage, 0 elsewhere
  Bytes batch;                              ///< batch_bytes on the last stage (and first, where a stage is both)
  Bytes embedding_gradient;                 ///< dense gradient of the word embedding, [V/tp, h], where it trains
  double imbalance = 1;                     ///< rows on the busiest rank over the mean; 1: balanced
  int rerun_layers = 1;                     ///< full recompute: layers that backward makes again at once
  FsdpInputs fsdp;
  const StageBase* base = nullptr;  ///< of `state`, `small` and `fsdp`, if the caller keeps it
  GraphInputs graphs;
};

/// What an activity adds to the live layers: which of a stage's candidate events is the dearest.
struct DearestEvent {
  MemoryMoment activity = MemoryMoment::forward;  ///< forward or backward
  bool loss = false;                              ///< head and MTP tensors are there
  bool chunk_done = false;                        ///< the layers of one micro-batch and chunk are not (yet, or any more) there
  Bytes transient, routed_transient;              ///< of the running operation
  Bytes working_set, routed_working_set;          ///< tensors that recompute made again
  Bytes embedding_gradient;
  Bytes compared;  ///< the sum that made it the dearest
};

/// What a stage's moments have in common, worked out once for all of them: the dearest events and sums over the live
/// layers. Good as long as `in` is.
struct StageEvents {
  explicit StageEvents(const StageInputs& in);
  StageEvents(const StageEvents&) = delete;
  StageEvents& operator=(const StageEvents&) = delete;

  std::optional<StageBase> own_base;  ///< where `in` brings none
  const StageBase& base;
  DearestEvent forward, backward;
  Bytes in_flight;          ///< offloaded tensors on their way
  Bytes in_flight_first;    ///< in the first step: offload then moves out everything at once, so that less is in flight
  Bytes live, live_routed;  ///< saved by the live layers that are on the device
  Bytes unwinding, unwinding_routed;  ///< of these, the micro-batch and chunk that runs backward
  Bytes bottom;                       ///< saved by embedding and vision tower
  Bytes loss, loss_routed;            ///< saved by head and MTP where the loss is computed
  Bytes eager;                        ///< eager_activations
  /// The dearest part of the first step: forward, backward or the optimizer's.
  MemoryMoment first_step = MemoryMoment::forward;
  Bytes first_step_allocated;
};

/// What a full-iteration graph captures: the dearer of forward and backward, above the static part. 0 without
/// one.
Bytes eager_activations(const StageInputs& in);

/// `bytes` at balanced routing -> what the imbalance adds to them.
inline Bytes imbalance_bytes(Bytes routed, double imbalance) {
  if (routed == Bytes(0) || imbalance == 1) return Bytes(0);
  return rounded_bytes(double(routed.value) * (imbalance - 1));
}

namespace detail {

template <class Acc>
void add_saved(const ActivationProfile& p, std::int64_t copies, Acc& acc) {
  for (std::size_t t = SavedBytes::kFirst; t < SavedBytes::kEnd; ++t)
    if (p.saved[MemoryTerm(t)].value) acc.add(MemoryTerm(t), p.saved[MemoryTerm(t)] * copies);
}

/// What layers, embedding, tower and loss have saved.
template <class Acc>
void add_all_saved(const StageInputs& in, const StageEvents&, const DearestEvent& event, Acc& acc) {
  for (const LiveLayers& l : in.layers) add_saved(*l.profile, l.live - l.on_host - (event.chunk_done ? l.unwinding : 0), acc);
  if (in.embedding) add_saved(*in.embedding, in.first_chunk_live, acc);
  if (in.vision) add_saved(*in.vision, in.first_chunk_live, acc);
  if (event.loss && in.mtp) add_saved(*in.mtp, in.mtp_depths, acc);
  if (event.loss && in.head) add_saved(*in.head, 1, acc);
}

/// The sum alone is known.
inline void add_all_saved(const StageInputs&, const StageEvents& events, const DearestEvent& event, MemoryTotal& acc) {
  Bytes all = events.live + events.bottom;
  if (event.chunk_done) all -= events.unwinding;
  if (event.loss) all += events.loss;
  acc.add(MemoryTerm::saved_attention, all);
}

template <class Acc>
void add_event(const StageInputs& in, const StageEvents& events, const DearestEvent& event, Bytes in_flight, Acc& acc) {
  add_all_saved(in, events, event, acc);
  if (event.loss && in.head) acc.add(MemoryTerm::logits, std::max(in.head->forward_transient, in.head->backward_transient));
  Bytes routed = event.routed_transient + event.routed_working_set + events.live_routed;
  if (event.chunk_done) routed -= events.unwinding_routed;
  if (event.loss) routed += events.loss_routed;
  const bool forward = event.activity == MemoryMoment::forward;
  acc.add(forward ? MemoryTerm::forward_buffers : MemoryTerm::backward_buffers, event.transient + in_flight);
  acc.add(MemoryTerm::recompute_working_set, event.working_set);
  acc.add(MemoryTerm::embedding_gradient, event.embedding_gradient);
  acc.add(MemoryTerm::routing_imbalance, imbalance_bytes(routed, in.imbalance));
  acc.add(MemoryTerm::saved_head, in.deferred_head);
  acc.add(MemoryTerm::pipeline_buffers, in.pipeline_buffers);
  acc.add(MemoryTerm::batch, in.small.resident_microbatches.value ? in.small.resident_microbatches : in.batch);
}

/// State, small terms and FSDP's buffers. `step` says which state exists, `moment` which units are gathered.
template <class Acc>
void add_base(const StageInputs& in, const StageEvents& events, MemoryMoment step, MemoryMoment moment, bool at_loss,
              Acc& acc) {
  add_static(in.state, step, acc);
  add_small_terms(in.small, step, acc);
  add_fsdp(events.base.fsdp.at(moment, at_loss), acc);
}

inline void add_base(const StageInputs&, const StageEvents& events, MemoryMoment step, MemoryMoment moment, bool at_loss,
                     MemoryTotal& acc) {
  acc.add(MemoryTerm::weights, events.base.state[step]);
  add_fsdp(events.base.fsdp.at(moment, at_loss), acc);
}

/// The stage in its forward or backward; `step` says which state exists: first_step, or the activity itself.
template <class Acc>
void add_activity(const StageInputs& in, const StageEvents& events, MemoryMoment activity, MemoryMoment step, Acc& acc) {
  const DearestEvent& event = activity == MemoryMoment::forward ? events.forward : events.backward;
  add_base(in, events, step, activity, event.loss, acc);
  add_event(in, events, event, step == MemoryMoment::first_step ? events.in_flight_first : events.in_flight, acc);
}

/// The stage between its steps, after the build, or while the optimizer runs.
template <class Acc>
void add_idle(const StageInputs& in, const StageEvents& events, MemoryMoment moment, Acc& acc) {
  add_base(in, events, moment, moment, false, acc);
}

/// Everything but what graphs add.
template <class Acc>
void add_without_graphs(const StageInputs& in, const StageEvents& events, MemoryMoment moment, Acc& acc) {
  if (moment == MemoryMoment::forward || moment == MemoryMoment::backward) return add_activity(in, events, moment, moment, acc);
  if (moment != MemoryMoment::first_step) return add_idle(in, events, moment, acc);
  if (events.first_step == MemoryMoment::optimizer_step) return add_idle(in, events, events.first_step, acc);
  add_activity(in, events, events.first_step, MemoryMoment::first_step, acc);
}

}  // namespace detail

/// Adds what graphs hold as allocated.
template <class Acc>
void add_graph_pool(const StageInputs& in, const StageEvents& events, MemoryMoment moment, Acc& acc) {
  if (in.graphs.impl != CudaGraphImpl::none) acc.add(MemoryTerm::graph_pool, graph_pool_bytes(in.graphs, moment, events.eager));
}

/// Adds every term of the stage at a moment. first_step is the peak of the first step: a forward or backward
/// before the optimizer's moments exist and before graphs are captured, or its optimizer step, which makes
/// the moments. `events` are those of `in`. No allocation.
template <class Acc>
void stage_memory(const StageInputs& in, const StageEvents& events, MemoryMoment moment, Acc& acc) {
  detail::add_without_graphs(in, events, moment, acc);
  add_graph_pool(in, events, moment, acc);
}

/// The same for one moment alone.
template <class Acc>
void stage_memory(const StageInputs& in, MemoryMoment moment, Acc& acc) {
  stage_memory(in, StageEvents(in), moment, acc);
}

/// Allocated bytes at every moment, but for what graphs add.
using MomentBytes = EnumArray<MemoryMoment, Bytes>;
inline MomentBytes allocated_without_graphs(const StageInputs& in, const StageEvents& events) {
  MomentBytes bytes{};
  for (std::size_t m = 0; m < kCount<MemoryMoment>; ++m) {
    MemoryTotal total;
    if (MemoryMoment(m) == MemoryMoment::first_step)
      total.add(MemoryTerm::weights, events.first_step_allocated);
    else
      detail::add_without_graphs(in, events, MemoryMoment(m), total);
    bytes[MemoryMoment(m)] = total.allocated();
  }
  return bytes;
}

/// The moment at which the stage holds the most (ties: the earlier of the enum), and how much.
struct StagePeak {
  MemoryMoment moment = MemoryMoment::forward;
  Bytes allocated;
};
StagePeak stage_peak(const StageInputs& in);

}  // namespace shardfit::memory
