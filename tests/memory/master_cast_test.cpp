// SPDX-License-Identifier: Apache-2.0
#include "memory/master_cast.hpp"

#include <doctest/doctest.h>

#include "state_fixture.hpp"

using namespace shardfit;
using namespace shardfit::memory;

namespace {

/// fp8 parameters of `kElements` linear weights, sharded over 8.
StaticInputs gathered(Precision precision, Sharding sharding = Sharding::optimizer) {
  StaticInputs in = bf16_adam(sharding, 8);
  in.precision = precision;
  in.fp8_param_gather = true;
  in.params.linear_dense = in.params.linear_trainable_dense = kElements;
  return in;
}

Bytes cast(const StaticInputs& in) { return static_state(in).optimizer_step; }

}  // namespace

TEST_CASE("a rank's masters are all cast to bf16 before the first is quantised: 2 B an element of its shard") {
  CHECK(cast(gathered(Precision::fp8_tensorwise)) == Bytes(2 * kElements / 8));
  CHECK(cast(gathered(Precision::fp8_delayed)) == Bytes(2 * kElements / 8));
  CHECK(cast(gathered(Precision::fp8_blockwise)) == Bytes(2 * kElements / 8));
  CHECK(cast(gathered(Precision::nvfp4)) == Bytes(2 * kElements / 8));
}

TEST_CASE("while the optimizer runs and at no other moment") {
  const StaticInputs in = gathered(Precision::fp8_tensorwise);
  StaticInputs bf16 = in;
  bf16.fp8_param_gather = false;  // the same elements, 2 B of bf16 more and no cast
  CHECK(total(in, MemoryMoment::optimizer_step) - total(in) == Bytes(2 * kElements / 8));
  CHECK(total(bf16, MemoryMoment::optimizer_step) == total(bf16));
}

TEST_CASE("nothing where masters go into the gradient buffer, or where the optimizer updates the weights itself") {
  CHECK(cast(gathered(Precision::mxfp8)) == Bytes(0));
  StaticInputs in = gathered(Precision::fp8_delayed);
  in.optimizer.precision_aware = true;
  CHECK(cast(in) == Bytes(0));
  in.precision = Precision::fp8_tensorwise;  // makes its masters itself, precision-aware or not
  CHECK(cast(in) == Bytes(2 * kElements / 8));
  CHECK(cast(bf16_adam(Sharding::optimizer, 8)) == Bytes(0));
}

TEST_CASE("dense and expert parameters have an optimizer each, one after the other: the larger counts") {
  StaticInputs in = gathered(Precision::fp8_tensorwise);
  in.params.expert = in.params.linear_expert = in.params.linear_trainable_expert = 3 * kElements;
  CHECK(cast(in) == Bytes(3 * 2 * kElements / 8));
}

TEST_CASE("Megatron-FSDP casts mxfp8 too, and 128-blocks beside whole buckets, at most 5 Gi elements of these") {
  CHECK(cast(gathered(Precision::mxfp8, Sharding::full)) == Bytes(2 * kElements / 8));
  CHECK(cast(gathered(Precision::fp8_blockwise, Sharding::full)) == Bytes(kElements + 2 * kElements / 8));
  const StaticInputs in = gathered(Precision::fp8_blockwise, Sharding::full);
  const std::int64_t batch = std::int64_t(5) << 30;
  CHECK(master_cast_bytes(in, 4 * batch / 2, 4 * batch) == Bytes(batch + 2 * batch));
}
