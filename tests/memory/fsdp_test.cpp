// SPDX-License-Identifier: Apache-2.0
#include "memory/fsdp.hpp"

#include <doctest/doctest.h>

using namespace shardfit;
using namespace shardfit::memory;

namespace {

FsdpInputs units_of(std::int64_t unit, std::int64_t units) {
  FsdpInputs in;
  in.sharding = Sharding::full;
  in.units = units;
  in.unit_elements = unit;
  in.all_unit_elements = in.trainable_elements = unit * units;
  in.shards = 8;
  return in;
}

}  // namespace

TEST_CASE("the communication unit is at least 1e9 elements, or two units") {
  CHECK(communication_unit_elements(32 * 200'000'000LL, 32) == 1'000'000'000);
  CHECK(communication_unit_elements(10 * 900'000'000LL, 10) == 1'800'000'000);
  CHECK(communication_unit_elements(0, 0) == 1'000'000'000);
}

TEST_CASE("prefetch runs ahead by half a communication unit") {
  SUBCASE("small units: 5e8 elements ahead") {
    const FsdpBuffers b = fsdp_buffers(units_of(200'000'000, 32), MemoryMoment::forward);
    CHECK(b.unsharded_weights.value == 2LL * (1 + 3) * 200'000'000);
    CHECK(b.unreduced_gradients.value == 0);
  }
  SUBCASE("tight: a unit of exactly 5e8 brings one, one element less brings two") {
    CHECK(fsdp_buffers(units_of(500'000'000, 9), MemoryMoment::forward).unsharded_weights.value == 2LL * 2 * 500'000'000);
    CHECK(fsdp_buffers(units_of(499'999'999, 9), MemoryMoment::forward).unsharded_weights.value == 2LL * 3 * 499'999'999);
  }
  SUBCASE("large units: the next one only") {
    CHECK(fsdp_buffers(units_of(2'000'000'000, 9), MemoryMoment::forward).unsharded_weights.value == 2LL * 2 * 2'000'000'000);
  }
  SUBCASE("a small model is gathered whole, never more") {
    CHECK(fsdp_buffers(units_of(1000, 4), MemoryMoment::forward).unsharded_weights.value == 2 * 4000);
  }
}

TEST_CASE("at the loss all units but the last have let go of their weights") {
  FsdpInputs in = units_of(200'000'000, 32);
  in.outside_elements = 5;
  CHECK(fsdp_buffers(in, MemoryMoment::forward, true).unsharded_weights.value == 2 * (200'000'000LL + 5));
  in.sharding = Sharding::full_torch;
  CHECK(fsdp_buffers(in, MemoryMoment::forward, true).unsharded_weights.value == 2 * (200'000'000LL + 5));
  in.reshard_after_forward = false;
  CHECK(fsdp_buffers(in, MemoryMoment::forward, true).unsharded_weights.value == 2 * (32 * 200'000'000LL + 5));
}

TEST_CASE("gradients wait in backward only, at most a communication unit and the running one") {
  const FsdpBuffers b = fsdp_buffers(units_of(200'000'000, 32), MemoryMoment::backward);
  CHECK(b.unreduced_gradients.value == 2LL * (1'000'000'000 + 200'000'000));
  CHECK(fsdp_buffers(units_of(1000, 4), MemoryMoment::backward).unreduced_gradients.value == 2 * 4000);
}

TEST_CASE("between steps nothing is gathered, unless a double buffer keeps its two units") {
  FsdpInputs in = units_of(200'000'000, 32);
  CHECK(fsdp_buffers(in, MemoryMoment::between_steps).unsharded_weights.value == 0);
  in.double_buffer = true;
  in.outside_elements = 7;
  const FsdpBuffers idle = fsdp_buffers(in, MemoryMoment::between_steps);
  CHECK(idle.unsharded_weights.value == 2LL * 2 * 200'000'000);
  CHECK(idle.unreduced_gradients.value == 2LL * 2 * 200'000'000);
  CHECK(fsdp_buffers(in, MemoryMoment::forward).unsharded_weights.value == 2 * (2LL * 200'000'000 + 7));
}

TEST_CASE("sharded gradients alone gather no weights") {
  FsdpInputs in = units_of(200'000'000, 32);
  in.sharding = Sharding::optimizer_grads;
  CHECK(fsdp_buffers(in, MemoryMoment::backward).unsharded_weights.value == 0);
  CHECK(fsdp_buffers(in, MemoryMoment::backward).unreduced_gradients.value > 0);
  in.sharding = Sharding::optimizer;
  CHECK(fsdp_buffers(in, MemoryMoment::backward).unreduced_gradients.value == 0);
}

TEST_CASE("one rank gathers from nobody") {
  FsdpInputs in = units_of(200'000'000, 32);
  in.shards = 1;
  CHECK(fsdp_buffers(in, MemoryMoment::backward).unsharded_weights.value == 0);
  CHECK(fsdp_buffers(in, MemoryMoment::backward).unreduced_gradients.value == 0);
}

TEST_CASE("FSDP2: two units; without resharding or reduction, all of them") {
  FsdpInputs in = units_of(200'000'000, 32);
  in.sharding = Sharding::full_torch;
  CHECK(fsdp_buffers(in, MemoryMoment::backward).unsharded_weights.value == 2LL * 2 * 200'000'000);
  // One unit's gradients are made in bf16 while another's are reduced in fp32.
  CHECK(fsdp_buffers(in, MemoryMoment::backward).unreduced_gradients.value == (2 + 4) * 200'000'000LL);
  CHECK(fsdp_buffers(in, MemoryMoment::forward).unreduced_gradients.value == 0);
  in.reshard_after_forward = in.gradient_sync_every_microbatch = false;
  CHECK(fsdp_buffers(in, MemoryMoment::backward).unsharded_weights.value == 2LL * 32 * 200'000'000);
  // Accumulated gradients wait in the type of their reduction, in the next micro-batch's forward too.
  CHECK(fsdp_buffers(in, MemoryMoment::backward).unreduced_gradients.value == (2 + 4LL * 32) * 200'000'000);
  CHECK(fsdp_buffers(in, MemoryMoment::forward).unreduced_gradients.value == 4LL * 32 * 200'000'000);
}
