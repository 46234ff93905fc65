// SPDX-License-Identifier: Apache-2.0
#include "memory/fsdp.hpp"

#include <algorithm>
#include <cmath>

// Computes:   whole weights and gradients that FSDP holds beside its shards while layers run.
// Formula:    Megatron-FSDP, u = max(1e9, 2 x average unit): weights = current unit + prefetched units
//             until u/2 elements are on their way + what lies outside units; gradients = at most u elements
//             waiting for their reduce-scatter + the running unit. Double buffer: two units of each, for
//             good. FSDP2: current and next unit, the unit whose gradient is being reduced (in fp32) and
//             the one being made; without a reduction every micro-batch all gradients, in fp32.
// Source:     Megatron-LM core/distributed/fsdp/src/megatron_fsdp/{megatron_fsdp,param_and_grad_buffer}.py;
//             torch.distributed.fsdp (fully_shard, implicit prefetch of one unit;
//             FSDPParam.to_accumulated_grad_if_needed: unsharded_accumulated_grad has the reduce dtype).
// Valid when: units are alike; mixed stages take the largest unit as current one.
// Ignores:    transposed copies of quantised units; the order in which outside tensors are released; that what stays in
//             bf16 in a quantised run (embedding, head, layers kept in bf16) is gathered at two bytes an element.
// Checked by: tests/memory/fsdp_test.cpp.

namespace shardfit::memory {

namespace {

/// suggested_communication_unit_size is at least this many elements. Source: megatron_fsdp.py. Kind: read.
constexpr std::int64_t kCommunicationUnit = 1'000'000'000;
/// Units of a double buffer, and units that FSDP2 has gathered at once. Kind: read.
constexpr std::int64_t kBufferedUnits = 2;

std::int64_t prefetched_units(std::int64_t unit_elements, std::int64_t budget) {
  return unit_elements == 0 ? 0 : (budget + unit_elements - 1) / unit_elements;
}

Bytes weight_bytes(const FsdpInputs& in, std::int64_t elements) {
  return Bytes(std::llround(double(elements) * in.weight_bytes));
}

/// The queue is drained when it holds more than u elements; the running unit's gradients come on top.
std::int64_t waiting_gradients(const FsdpInputs& in, std::int64_t u) {
  return std::min(u + in.unit_elements, in.trainable_elements);
}

FsdpBuffers megatron_full(const FsdpInputs& in, MemoryMoment moment, bool at_loss) {
  const bool running = moment == MemoryMoment::forward || moment == MemoryMoment::backward;
  const std::int64_t pool = std::min(kBufferedUnits * in.unit_elements, in.all_unit_elements);
  if (in.double_buffer) {
    const std::int64_t outside = running ? in.outside_elements : 0;
    return {weight_bytes(in, pool + outside), Bytes(pool * in.gradient_bytes)};
  }
  if (!running) return {};
  const std::int64_t u = communication_unit_elements(in.all_unit_elements, in.units);
  const std::int64_t ahead = at_loss ? 0 : prefetched_units(in.unit_elements, u / 2);
  const std::int64_t gathered = std::min((1 + ahead) * in.unit_elements, in.all_unit_elements);
  const std::int64_t waiting = moment == MemoryMoment::backward ? waiting_gradients(in, u) : 0;
  return {weight_bytes(in, gathered + in.outside_elements), Bytes(waiting * in.gradient_bytes)};
}

FsdpBuffers megatron_optimizer_grads(const FsdpInputs& in, MemoryMoment moment) {
  if (moment != MemoryMoment::backward) return {};
  const std::int64_t u = communication_unit_elements(in.all_unit_elements, in.units);
  return {Bytes(0), Bytes(waiting_gradients(in, u) * in.gradient_bytes)};
}

FsdpBuffers torch_full(const FsdpInputs& in, MemoryMoment moment, bool at_loss) {
  if (moment != MemoryMoment::forward && moment != MemoryMoment::backward) return {};
  const std::int64_t some = std::min((at_loss ? 1 : kBufferedUnits) * in.unit_elements, in.all_unit_elements);
  const std::int64_t gathered = in.reshard_after_forward ? some : in.all_unit_elements;
  const std::int64_t made = moment == MemoryMoment::forward ? 0 : std::min(in.unit_elements, in.trainable_elements);
  const std::int64_t reduced = std::min(made, in.trainable_elements - made);
  // Accumulated over micro-batches, and on their way to the reduction, gradients have the type that they are reduced in.
  const std::int64_t kept = in.gradient_sync_every_microbatch ? reduced : in.trainable_elements;
  return {weight_bytes(in, gathered + in.outside_elements), Bytes(made * in.gradient_bytes + kept * in.accumulated_bytes)};
}

}  // namespace

std::int64_t communication_unit_elements(std::int64_t all_unit_elements, std::int64_t units) {
  return std::max(kCommunicationUnit, units > 0 ? 2 * all_unit_elements / units : 0);
}

FsdpBuffers fsdp_buffers(const FsdpInputs& in, MemoryMoment moment, bool at_loss) {
  if (in.shards <= 1) return {};
  switch (in.sharding) {
    case Sharding::full: return megatron_full(in, moment, at_loss);
    case Sharding::optimizer_grads: return megatron_optimizer_grads(in, moment);
    case Sharding::full_torch: return torch_full(in, moment, at_loss);
    default: return {};
  }
}

}  // namespace shardfit::memory
