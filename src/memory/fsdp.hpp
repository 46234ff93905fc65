// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "shardfit/ledger/ledger.hpp"
#include "shardfit/spec/layout.hpp"

namespace shardfit::memory {

/// Sizes of a stage's FSDP units (one transformer layer each), in elements on a rank as if nothing were
/// sharded.
struct FsdpInputs {
  Sharding sharding = Sharding::optimizer;
  std::int64_t units = 0;               ///< layers on the stage
  std::int64_t unit_elements = 0;       ///< of the largest unit
  std::int64_t all_unit_elements = 0;   ///< of all units together
  std::int64_t outside_elements = 0;    ///< embedding, head, final norm
  std::int64_t trainable_elements = 0;  ///< of units and outside
  double weight_bytes = 2;              ///< of a gathered element (quantised gather: fewer)
  int gradient_bytes = 2;               ///< of an unreduced gradient element
  int accumulated_bytes = 4;            ///< torch FSDP2: of one that waits for the last micro-batch, and while reduced
  int shards = 1;
  bool double_buffer = false;
  bool reshard_after_forward = true;           ///< torch FSDP2
  bool gradient_sync_every_microbatch = true;  ///< torch FSDP2: false keeps whole gradients until the last micro-batch
};

struct FsdpBuffers {
  Bytes unsharded_weights, unreduced_gradients;
};
/// Zero for the kinds of sharding that gather nothing layer by layer, and for one shard. `at_loss`: all units
/// have run forward and let go of their weights but the last.
FsdpBuffers fsdp_buffers(const FsdpInputs& in, MemoryMoment moment, bool at_loss = false);

/// Megatron-FSDP's suggested_communication_unit_size, in elements.
std::int64_t communication_unit_elements(std::int64_t all_unit_elements, std::int64_t units);

/// fsdp_buffers of every moment, worked out once.
class FsdpMoments {
 public:
  FsdpMoments() = default;
  explicit FsdpMoments(const FsdpInputs& in) {
    for (std::size_t m = 0; m < kCount<MemoryMoment>; ++m)
      for (const bool at_loss : {false, true}) buffers_[at_loss][MemoryMoment(m)] = fsdp_buffers(in, MemoryMoment(m), at_loss);
  }
  const FsdpBuffers& at(MemoryMoment moment, bool at_loss = false) const { return buffers_[at_loss][moment]; }

 private:
  EnumArray<MemoryMoment, FsdpBuffers> buffers_[2];
};

template <class Acc>
void add_fsdp(const FsdpBuffers& b, Acc& acc) {
  acc.add(MemoryTerm::fsdp_unsharded_weights, b.unsharded_weights);
  acc.add(MemoryTerm::fsdp_unreduced_gradients, b.unreduced_gradients);
}

}  // namespace shardfit::memory
