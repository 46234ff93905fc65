// SPDX-License-Identifier: Apache-2.0
#include "memory/stage_memory.hpp"

#include <cmath>

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

Bytes imbalanced(Bytes all, Bytes routed, double imbalance) {
  return all + imbalance_bytes(routed, imbalance);
}

Bytes saved_with_imbalance(const ActivationProfile& p, double imbalance) {
  return imbalanced(p.saved_total(), p.routed, imbalance);
}

/// What offload has in flight: fine-grained groups of the dearest kind, or whole layers.
Bytes in_flight(const StageInputs& in, std::int64_t groups) {
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

DearestEvent forward_event(const StageInputs& in) {
  DearestEvent best;
  best.compared = Bytes(-1);
  const Bytes gathered = fsdp_buffers(in.fsdp, MemoryMoment::forward).unsharded_weights;
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
    loss.compared = fsdp_buffers(in.fsdp, MemoryMoment::forward, true).unsharded_weights;
    if (in.head)
      loss.compared +=
          in.head->saved_total() + std::max(in.head->forward_transient, in.head->backward_transient);
    if (in.mtp) loss.compared += saved_with_imbalance(*in.mtp, in.imbalance) * in.mtp_depths;
    keep_dearer(best, loss);
  }
  if (in.vision) {
    DearestEvent tower;
    tower.chunk_done = true;
    tower.transient = in.vision->forward_transient;
    tower.compared = tower.transient + gathered - unwound(in);
    keep_dearer(best, tower);
  }
  best.compared = std::max(best.compared, Bytes(0));
  return best;
}

DearestEvent backward_event(const StageInputs& in) {
  DearestEvent best;
  best.activity = MemoryMoment::backward;
  for (const LiveLayers& l : in.layers) {
    DearestEvent layer;
    layer.activity = MemoryMoment::backward;
    layer.transient = l.profile->backward_transient;
    layer.routed_transient = l.profile->routed_backward;
    layer.working_set = l.profile->recompute_working_set * in.rerun_layers;
    layer.routed_working_set = l.profile->routed_working_set * in.rerun_layers;
    layer.compared = imbalanced(layer.transient + layer.working_set,
                                layer.routed_transient + layer.routed_working_set, in.imbalance);
    keep_dearer(best, layer);
  }
  if (in.embedding || in.vision) {
    DearestEvent bottom;
    bottom.activity = MemoryMoment::backward;
    bottom.chunk_done = true;
    bottom.embedding_gradient = in.embedding_gradient;
    const Bytes tower =
        in.vision ? in.vision->backward_transient + in.vision->recompute_working_set : Bytes(0);
    if (tower > bottom.embedding_gradient) {
      bottom.embedding_gradient = Bytes(0);
      bottom.transient = in.vision->backward_transient;
      bottom.working_set = in.vision->recompute_working_set;
    }
    bottom.compared = bottom.embedding_gradient + bottom.transient + bottom.working_set - unwound(in);
    keep_dearer(best, bottom);
  }
  return best;
}

}  // namespace

Bytes imbalance_bytes(Bytes routed, double imbalance) {
  if (routed == Bytes(0) || imbalance == 1) return Bytes(0);
  return Bytes(std::llround(double(routed.value) * (imbalance - 1)));
}

DearestEvent dearest_event(const StageInputs& in, MemoryMoment activity, bool first_step) {
  DearestEvent event = activity == MemoryMoment::forward ? forward_event(in) : backward_event(in);
  event.in_flight = in_flight(in, first_step ? kGroupsInFirstStep : kGroupsInFlight);
  return event;
}

Bytes eager_activations(const StageInputs& in) {
  if (in.graphs.impl != CudaGraphImpl::full_iteration) return Bytes(0);
  MemoryTotal forward, backward;
  detail::add_event(in, dearest_event(in, MemoryMoment::forward), forward);
  detail::add_event(in, dearest_event(in, MemoryMoment::backward), backward);
  return std::max(forward.allocated(), backward.allocated());
}

MemoryMoment detail::dearest_of_first_step(const StageInputs& in) {
  MemoryTotal forward, backward, optimizer;
  add_activity(in, MemoryMoment::forward, MemoryMoment::first_step, forward);
  add_activity(in, MemoryMoment::backward, MemoryMoment::first_step, backward);
  add_idle(in, MemoryMoment::optimizer_step, MemoryMoment::first_step, optimizer);
  const Bytes activity = std::max(forward.allocated(), backward.allocated());
  if (optimizer.allocated() > activity) return MemoryMoment::optimizer_step;
  return backward.allocated() > forward.allocated() ? MemoryMoment::backward : MemoryMoment::forward;
}

StagePeak stage_peak(const StageInputs& in) {
  StagePeak peak;
  for (std::size_t m = 0; m < kCount<MemoryMoment>; ++m) {
    MemoryTotal total;
    stage_memory(in, MemoryMoment(m), total);
    if (total.allocated() > peak.allocated) peak = {MemoryMoment(m), total.allocated()};
  }
  return peak;
}

}  // namespace shardfit::memory
