// SPDX-License-Identifier: Apache-2.0
#include "memory/outside.hpp"

#include <doctest/doctest.h>

using namespace shardfit;
using namespace shardfit::memory;

TEST_CASE("HybridEP for DeepSeek-V3 on 64 ranks of one domain, 4096 tokens: 3.76 + 0.27 + 0.06 GB") {
  DispatcherInputs in;
  in.dispatcher = Dispatcher::hybridep;
  in.tokens = 4096;
  in.width = 7168;
  in.ranks = in.ranks_per_domain = 64;
  in.local_experts = 4;
  CHECK(double(dispatcher_bytes(in).value) / kGB == doctest::Approx(3.758 + 0.268 + 0.059 + 0.067).epsilon(0.001));
  const Bytes one = dispatcher_bytes(in);
  in.tokens *= 2;
  CHECK(dispatcher_bytes(in) == one * 2);
}

TEST_CASE("HybridEP across domains stages tokens for the others") {
  DispatcherInputs in;
  in.dispatcher = Dispatcher::hybridep;
  in.tokens = 4096;
  in.width = 7168;
  in.ranks = in.ranks_per_domain = 64;
  in.local_experts = 1;
  const Bytes inside = dispatcher_bytes(in);
  in.ranks_per_domain = 8;
  const std::int64_t routing = 4096LL * 64 * 4 * (64 - 8);
  CHECK(dispatcher_bytes(in) == inside - Bytes(routing) + Bytes((1 + 3 * 7) * 4096LL * 7168 * 2));
}

TEST_CASE("DeepEP: 0.34 GB on 8 ranks; 0.38 of NVLink and 0.34 of RDMA buffers on 64") {
  DispatcherInputs in;
  in.dispatcher = Dispatcher::deepep;
  in.tokens = 4096;
  in.width = 7168;
  in.ranks = 8;
  CHECK(double(dispatcher_bytes(in).value) / kGB == doctest::Approx(0.336).epsilon(0.005));
  in.ranks = 64;
  CHECK(double(dispatcher_bytes(in).value) / kGB == doctest::Approx(0.378 + 0.336).epsilon(0.005));
  const Bytes some = dispatcher_bytes(in);
  in.tokens *= 4;  // one buffer whatever the batch
  CHECK(dispatcher_bytes(in) == some);
  in.sms = 40;
  CHECK(dispatcher_bytes(in) == some * 2);
}

TEST_CASE("NCCL dispatchers and a group of one need no buffer") {
  DispatcherInputs in;
  in.tokens = 4096;
  in.width = 7168;
  in.ranks = 8;
  CHECK(dispatcher_bytes(in) == Bytes(0));
  in.dispatcher = Dispatcher::deepep;
  in.ranks = 1;
  CHECK(dispatcher_bytes(in) == Bytes(0));
}

TEST_CASE("TP-overlap user buffers: 1.6 GB for 8192 tokens of 8192") {
  UserBufferInputs in;
  in.tokens = in.hidden = 8192;
  in.tp = 4;
  CHECK(double(user_buffer_bytes(in).value) / kGB == doctest::Approx(1.61).epsilon(0.01));
  const Bytes bf16 = user_buffer_bytes(in);
  in.fp8 = true;
  CHECK(user_buffer_bytes(in) == bf16 * 16 / 24);
  in.also_bf16 = true;
  CHECK(user_buffer_bytes(in) == bf16 * 16 / 24 + bf16);
  in.tp = 1;
  CHECK(user_buffer_bytes(in) == Bytes(0));
}

TEST_CASE("outside torch: reserve on what is allocated, communicators, context") {
  OutsideInputs in;
  in.context = mib(600);
  in.per_communicator = mib(300);
  in.per_nvls = mib(384);
  in.communicators = 4;
  in.nvls_communicators = 1;
  MemoryLedger need;
  need.add(MemoryTerm::weights, mib(10000));
  add_outside(in, Bytes(0), need);
  CHECK(need[MemoryTerm::allocator_reserve] == mib(30));
  CHECK(need[MemoryTerm::nccl_buffers] == mib(1584));
  CHECK(need.allocated() == mib(10000));
  CHECK(need.total() == mib(10000 + 30 + 600 + 1584));
}

TEST_CASE("the allocator holds more, the less regular the tensors") {
  Fragmentation f{.expandable_segments = false};
  CHECK(allocator_reserve(mib(10000), mib(4000), f) == mib(300));
  f.mixed_sizes = true;
  CHECK(allocator_reserve(mib(10000), mib(4000), f) == mib(550));
  f.interleaved = true;  // holes grow with what comes and goes
  CHECK(allocator_reserve(mib(10000), mib(4000), f) == mib(550 + 600));
  CHECK(allocator_reserve(mib(10000), Bytes(0), f) == mib(550));
  f.variable_sizes = true;
  CHECK(reserve_ratio(f) > 1.055);
  f.expandable_segments = true;
  CHECK(reserve_ratio(f) == doctest::Approx(1.023));
  CHECK(allocator_reserve(mib(10000), mib(4000), f) == mib(230));
}
