// SPDX-License-Identifier: Apache-2.0
#include "memory/stage_memory.hpp"

namespace shardfit::memory {

namespace {

/// Offloaded groups that are on the device beside the live layers: one on its way out, one on its way back,
/// the one in use; in the first step, which offloads without looking ahead, the one in use only. Source:
/// Megatron-LM core/pipeline_parallel/fine_grained_activation_offload.py (reload one group ahead, last groups
/// stay); 3 and 1 agree with golden values of two offloading runs within 2.5 %. Kind: read, counted.
constexpr std::int64_t kGroupsInFlight = 3, kGroupsInFirstStep = 1;
/// Whole layers that are on the device though moved out: the one on its way, taking it that a layer's copy is over
/// before the next offloaded layer starts (Transformer Engine's offload windows). Kind: assumed.
constexpr std::int64_t kLayersInFlight = 1;

Bytes imbalanced(Bytes all, Bytes routed, double imbalance) { return all + imbalance_bytes(routed, imbalance); }

Bytes saved_with_imbalance(const ActivationProfile& p, double imbalance) {
  return imbalanced(p.saved_total(), p.routed, imbalance);
}

/// What offload has in flight: fine-grained groups of the dearest kind, or whole layers.
Bytes moving(const StageInputs& in, std::int64_t groups) {
  Bytes most;
  for (const LiveLayers& l : in.layers) {
    if (l.on_host == 0 && l.profile->offloaded == Bytes(0)) continue;
    const Bytes fine = l.profile->offloaded * std::min(l.live, groups);
    const Bytes whole = saved_with_imbalance(*l.profile, in.imbalance) * std::min(l.on_host, kLayersInFlight);
    most = std::max(most, fine + whole);
  }
  return most;
}

Bytes unwound(const StageInputs& in) {
  Bytes sum;
  for (const LiveLayers& l : in.layers) sum += saved_with_imbalance(*l.profile, in.imbalance) * l.unwinding;
  return sum;
}

void keep_dearer(DearestEvent& best, DearestEvent candidate) {
  if (candidate.compared > best.compared) best = candidate;
}

/// `unwound`: what the micro-batch and chunk that runs backward lets go of.
DearestEvent forward_event(const StageInputs& in, const FsdpMoments& fsdp, Bytes unwound) {
  DearestEvent best;
  best.compared = Bytes(-1);
  const Bytes gathered = fsdp.at(MemoryMoment::forward).unsharded_weights;
  for (const LiveLayers& l : in.layers) {
    DearestEvent running;
    running.transient = l.profile->forward_transient;
    running.routed_transient = l.profile->routed_forward;
    running.compared = imbalanced(running.transient, running.routed_transient, in.imbalance) + gathered;
    keep_dearer(best, running);
  }
  if (in.head || in.mtp) {
    DearestEvent loss;
    loss.loss = true;
    loss.compared = fsdp.at(MemoryMoment::forward, true).unsharded_weights;
    if (in.head) loss.compared += in.head->saved_total() + std::max(in.head->forward_transient, in.head->backward_transient);
    if (in.mtp) loss.compared += saved_with_imbalance(*in.mtp, in.imbalance) * in.mtp_depths;
    keep_dearer(best, loss);
  }
  if (in.vision) {
    DearestEvent tower;
    tower.chunk_done = true;
    tower.transient = in.vision->forward_transient;
    tower.compared = tower.transient + gathered - unwound;
    keep_dearer(best, tower);
  }
  best.compared = std::max(best.compared, Bytes(0));
  return best;
}

DearestEvent backward_event(const StageInputs& in, Bytes unwound) {
  DearestEvent best;
  best.activity = MemoryMoment::backward;
  for (const LiveLayers& l : in.layers) {
    DearestEvent layer;
    layer.activity = MemoryMoment::backward;
    layer.transient = l.profile->backward_transient;
    layer.routed_transient = l.profile->routed_backward;
    layer.working_set = l.profile->recompute_working_set * in.rerun_layers;
    layer.routed_working_set = l.profile->routed_working_set * in.rerun_layers;
    layer.compared = imbalanced(layer.transient + layer.working_set, layer.routed_transient + layer.routed_working_set,
                                in.imbalance);
    keep_dearer(best, layer);
  }
  if (in.embedding || in.vision) {
    DearestEvent bottom;
    bottom.activity = MemoryMoment::backward;
    bottom.chunk_done = true;
    bottom.embedding_gradient = in.embedding_gradient;
    const Bytes tower = in.vision ? in.vision->backward_transient + in.vision->recompute_working_set : Bytes(0);
    if (tower > bottom.embedding_gradient) {
      bottom.embedding_gradient = Bytes(0);
      bottom.transient = in.vision->backward_transient;
      bottom.working_set = in.vision->recompute_working_set;
    }
    bottom.compared = bottom.embedding_gradient + bottom.transient + bottom.working_set - unwound;
    keep_dearer(best, bottom);
  }
  return best;
}

}  // namespace

StageBase::StageBase(const StaticState& static_state, const SmallTerms& small, const FsdpInputs& fsdp_inputs)
    : fsdp(fsdp_inputs) {
  for (std::size_t m = 0; m < kCount<MemoryMoment>; ++m) {
    MemoryTotal total;
    add_static(static_state, MemoryMoment(m), total);
    add_small_terms(small, MemoryMoment(m), total);
    state[MemoryMoment(m)] = total.allocated();
  }
}

StageEvents::StageEvents(const StageInputs& in)
    : own_base(in.base ? std::nullopt : std::optional(StageBase(in.state, in.small, in.fsdp))),
      base(in.base ? *in.base : *own_base) {
  bool offloads = false;
  for (const LiveLayers& l : in.layers) {
    const Bytes saved = l.profile->saved_total();
    live += saved * (l.live - l.on_host);
    live_routed += l.profile->routed * (l.live - l.on_host);
    unwinding += saved * l.unwinding;
    unwinding_routed += l.profile->routed * l.unwinding;
    offloads |= l.on_host != 0 || l.profile->offloaded != Bytes(0);
  }
  if (in.embedding) bottom += in.embedding->saved_total() * in.first_chunk_live;
  if (in.vision) bottom += in.vision->saved_total() * in.first_chunk_live;
  if (in.mtp) loss += in.mtp->saved_total() * in.mtp_depths, loss_routed = in.mtp->routed * in.mtp_depths;
  if (in.head) loss += in.head->saved_total();

  const Bytes leaves = in.embedding || in.vision ? unwound(in) : Bytes(0);
  forward = forward_event(in, base.fsdp, leaves);
  backward = backward_event(in, leaves);
  if (offloads) {
    in_flight = moving(in, kGroupsInFlight);
    in_flight_first = moving(in, kGroupsInFirstStep);
  }

  if (in.graphs.impl == CudaGraphImpl::full_iteration) {
    MemoryTotal f, b;
    detail::add_event(in, *this, forward, in_flight, f);
    detail::add_event(in, *this, backward, in_flight, b);
    eager = std::max(f.allocated(), b.allocated());
  }
  MemoryTotal f, b, optimizer;
  detail::add_activity(in, *this, MemoryMoment::forward, MemoryMoment::first_step, f);
  detail::add_activity(in, *this, MemoryMoment::backward, MemoryMoment::first_step, b);
  detail::add_idle(in, *this, MemoryMoment::optimizer_step, optimizer);
  first_step = b.allocated() > f.allocated() ? MemoryMoment::backward : MemoryMoment::forward;
  first_step_allocated = std::max(f.allocated(), b.allocated());
  if (optimizer.allocated() > first_step_allocated) {
    first_step = MemoryMoment::optimizer_step;
    first_step_allocated = optimizer.allocated();
  }
}

Bytes eager_activations(const StageInputs& in) { return StageEvents(in).eager; }

StagePeak stage_peak(const StageInputs& in) {
  const StageEvents events(in);
  StagePeak peak;
  for (std::size_t m = 0; m < kCount<MemoryMoment>; ++m) {
    MemoryTotal total;
    stage_memory(in, events, MemoryMoment(m), total);
    if (total.allocated() > peak.allocated) peak = {MemoryMoment(m), total.allocated()};
  }
  return peak;
}

}  // namespace shardfit::memory
