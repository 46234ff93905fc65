// SPDX-License-Identifier: Apache-2.0
#include "memory/graphs.hpp"

#include <doctest/doctest.h>

using namespace shardfit;
using namespace shardfit::memory;

namespace {

GraphInputs scoped() {
  GraphInputs in;
  in.impl = CudaGraphImpl::transformer_engine;
  in.graphed_saved = mib(1000);
  in.graphed_transient = mib(50);
  in.static_inputs = 12;
  in.stream = mib(8);
  return in;
}

}  // namespace

TEST_CASE("captured tensors stay between steps and are counted once in forward") {
  const GraphInputs in = scoped();
  CHECK(graph_pool_bytes(in, MemoryMoment::between_steps, Bytes(0)) == mib(1000 + 50 + 96));
  CHECK(graph_pool_bytes(in, MemoryMoment::forward, Bytes(0)) == mib(50 + 96));
  CHECK(graph_pool_bytes(in, MemoryMoment::first_step, Bytes(0)) == Bytes(0));
  CHECK(graph_pool_bytes(in, MemoryMoment::after_build, Bytes(0)) == Bytes(0));
}

TEST_CASE("local graphs copy no inputs") {
  GraphInputs in = scoped();
  in.impl = CudaGraphImpl::local;
  CHECK(graph_pool_bytes(in, MemoryMoment::forward, Bytes(0)) == mib(50));
}

TEST_CASE("a full-iteration graph keeps the eager peak and half more") {
  GraphInputs in;
  in.impl = CudaGraphImpl::full_iteration;
  CHECK(graph_pool_bytes(in, MemoryMoment::between_steps, mib(1000)) == mib(1500));
  CHECK(graph_pool_bytes(in, MemoryMoment::backward, mib(1000)) == mib(500));
}

TEST_CASE("no graphs, no pool") {
  GraphInputs in = scoped();
  in.impl = CudaGraphImpl::none;
  CHECK(graph_pool_bytes(in, MemoryMoment::between_steps, mib(1000)) == Bytes(0));
}
