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

TEST_CASE("static inputs are allocated for good; the pool keeps captured tensors reserved between steps") {
  GraphInputs in = scoped();
  CHECK(graph_pool_bytes(in, MemoryMoment::between_steps, Bytes(0)) == mib(96));
  CHECK(graph_pool_bytes(in, MemoryMoment::forward, Bytes(0)) == mib(96));
  CHECK(graph_reserve_bytes(in, MemoryMoment::between_steps, Bytes(0)) == mib(1050));
  CHECK(graph_reserve_bytes(in, MemoryMoment::forward, Bytes(0)) == mib(50));
  in.attention_mask = mib(2);
  CHECK(graph_pool_bytes(in, MemoryMoment::forward, Bytes(0)) == mib(96 + 24));
}

TEST_CASE("attention graphs of 14 live layers, 4 x 4096 tokens, h 512 on tp2: 1,008 of 1,186 MiB measured") {
  GraphInputs in = scoped();
  in.static_inputs = 14;
  in.stream = Bytes(4 * 4096 * 512LL);
  in.attention_mask = Bytes(4 * 4096 * 4096LL);
  CHECK(graph_pool_bytes(in, MemoryMoment::between_steps, Bytes(0)) == mib(1008));
}

TEST_CASE("before the first step is over nothing is captured") {
  for (MemoryMoment m : {MemoryMoment::first_step, MemoryMoment::after_build}) {
    CHECK(graph_pool_bytes(scoped(), m, Bytes(0)) == Bytes(0));
    CHECK(graph_reserve_bytes(scoped(), m, Bytes(0)) == Bytes(0));
  }
}

TEST_CASE("local graphs copy no inputs") {
  GraphInputs in = scoped();
  in.impl = CudaGraphImpl::local;
  CHECK(graph_pool_bytes(in, MemoryMoment::forward, Bytes(0)) == Bytes(0));
  CHECK(graph_reserve_bytes(in, MemoryMoment::between_steps, Bytes(0)) == mib(1050));
}

TEST_CASE("a full-iteration graph keeps the eager peak and half more") {
  GraphInputs in;
  in.impl = CudaGraphImpl::full_iteration;
  CHECK(graph_pool_bytes(in, MemoryMoment::backward, mib(1000)) == mib(500));
  CHECK(graph_reserve_bytes(in, MemoryMoment::backward, mib(1000)) == Bytes(0));
  CHECK(graph_pool_bytes(in, MemoryMoment::between_steps, mib(1000)) == Bytes(0));
  CHECK(graph_reserve_bytes(in, MemoryMoment::between_steps, mib(1000)) == mib(1500));
  in.stream_reuse = true;
  CHECK(graph_pool_bytes(in, MemoryMoment::backward, mib(1000)) == mib(100));
  CHECK(graph_reserve_bytes(in, MemoryMoment::between_steps, mib(1000)) == mib(1100));
}

TEST_CASE("no graphs, no pool") {
  GraphInputs in = scoped();
  in.impl = CudaGraphImpl::none;
  CHECK(graph_pool_bytes(in, MemoryMoment::between_steps, mib(1000)) == Bytes(0));
}
