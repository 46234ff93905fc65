// SPDX-License-Identifier: Apache-2.0
#include "memory/small_terms.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace shardfit;
using namespace shardfit::memory;

TEST_CASE("workspaces by architecture and stack") {
  StackProfile te;
  CHECK(workspace_bytes(te, GpuGeneration::hopper, 2, false) == mib(96));
  CHECK(workspace_bytes(te, GpuGeneration::blackwell, 2, false) == mib(96));
  CHECK(workspace_bytes(te, GpuGeneration::ampere, 2, false) == mib(16.25 + 4));
  CHECK(workspace_bytes(te, GpuGeneration::hopper, 2, true) == mib(96 + 128));
  CHECK(workspace_bytes(te, GpuGeneration::ampere, 2, true) == mib(16.25 + 4 + 16));
  StackProfile local;
  local.transformer_engine = local.grouped_gemm = false;
  CHECK(workspace_bytes(local, GpuGeneration::hopper, 1, false) == mib(128));
  CHECK(workspace_bytes(local, GpuGeneration::hopper, 2, false) == mib(64));
  CHECK(workspace_bytes(local, GpuGeneration::hopper, 2, true) == mib(64 + 32));  // the router's
  CHECK(workspace_bytes(local, GpuGeneration::ampere, 2, true) == mib(16.25 + 4));
  local.te_workspace_mib = 8;  // of its layers; the router asks for the larger one of the same device
  CHECK(workspace_bytes(local, GpuGeneration::hopper, 2, true) == mib(64 + 32));
  CHECK(workspace_bytes(local, GpuGeneration::hopper, 2, false) == mib(64 + 8));
  StackProfile torch;  // its router is torch's
  torch.framework = Framework::torch_fsdp2;
  torch.transformer_engine = torch.grouped_gemm = false;
  CHECK(workspace_bytes(torch, GpuGeneration::hopper, 2, true) == workspace_bytes(torch, GpuGeneration::hopper, 2, false));
}

TEST_CASE("the global buffer is as large as its largest gather: 32 MiB of 33.7 unexplained in the EP8 runs") {
  CHECK(global_buffer_bytes(0, 4096 * 8, 512, 2) == mib(32));
  CHECK(global_buffer_bytes(4096, 0, 512, 2) == mib(4));
  CHECK(global_buffer_bytes(4096, 2048 * 4, 512, 2) == mib(8));
  CHECK(global_buffer_bytes(0, 0, 512, 2).value == 0);
}

TEST_CASE("what a run states about its workspaces wins") {
  StackProfile s;
  s.torch_cublas_workspace_mib = 64;
  s.te_workspace_mib = 4;
  s.grouped_gemm_workspace_mib = 0;
  CHECK(workspace_bytes(s, GpuGeneration::ampere, 1, true) == mib(68));
}

TEST_CASE("overlapped TP traffic has three workspaces of its own: 96 of the 98 MiB measured on a 15B model") {
  CHECK(tp_overlap_workspace_bytes(StackProfile{}, GpuGeneration::blackwell) == mib(96));
}

TEST_CASE("placeholders: one tensor a shape over all kinds, with the head once") {
  const WeightShapes dense{{10, 4}, {20, 4}}, moe{{10, 4}, {30, 4}}, head{{100, 4}};
  const std::array<const WeightShapes*, 3> kinds{&dense, &moe, &head};
  const std::pair<std::int64_t, std::int64_t> output{100, 4};
  CHECK(placeholder_bytes(kinds, std::nullopt).value == 2 * 4 * (10 + 20 + 30 + 100));
  CHECK(placeholder_bytes(kinds, output) == placeholder_bytes(kinds, std::nullopt));
  const std::array<const WeightShapes*, 2> tied{&dense, &moe};
  CHECK(placeholder_bytes(tied, output).value == 2 * 4 * (10 + 20 + 30 + 100));
  CHECK(placeholder_bytes({}, std::nullopt).value == 0);
}

TEST_CASE("placeholders of a 70B layer do not grow with layers: 1,632 MiB at tp1") {
  const WeightShapes layer{{8192, 8192}, {8192, 28672}, {10240, 8192}, {57344, 8192}};
  const std::array<const WeightShapes*, 4> four{&layer, &layer, &layer, &layer};
  CHECK(placeholder_bytes(four, std::nullopt) == mib(1632));
}

TEST_CASE("placeholders need fused accumulation and 2-byte weights") {
  StackProfile s;
  CHECK(keeps_placeholders(s, Precision::mxfp8));
  CHECK_FALSE(keeps_placeholders(s, Precision::fp32));
  s.grad_accumulation_fusion = false;
  CHECK_FALSE(keeps_placeholders(s, Precision::bf16));
  s.placeholder_weight_grads = true;
  CHECK(keeps_placeholders(s, Precision::bf16));
}

TEST_CASE("kept p2p tensors: 16 of 64 MiB in the 7B run with pp4 vpp8 at 8192 tokens") {
  const Bytes stream(8192LL * 4096 * 2);
  CHECK(kept_p2p_bytes(4, 8, stream) == mib(1024));
  CHECK(kept_p2p_bytes(1, 1, stream).value == 0);
  CHECK(pipeline_buffer_bytes(4, 8, stream) == mib(192));
  CHECK(pipeline_buffer_bytes(4, 1, stream) == mib(128));
  CHECK(pipeline_buffer_bytes(1, 1, stream).value == 0);
}

TEST_CASE("the batch and its mask") {
  CHECK(batch_bytes(4096, 4096, 1, false).value == 4096 * 28);
  CHECK(batch_bytes(4096, 4096, 2, false).value == 4096 * 12);
  CHECK(batch_bytes(8192, 4096, 2, true).value == 8192 * 12 + 2LL * 4096 * 4096);
}

TEST_CASE("a deferred head gradient grows with micro-batches") {
  const Bytes one = deferred_head_bytes(100, 10, 50, 1, 2), two = deferred_head_bytes(100, 10, 50, 2, 2);
  CHECK((two - one).value == 100 * 60 * 2);
  CHECK(one.value == 100 * 60 * 2);
}

TEST_CASE("between steps all small terms are there, in forward those that the next step replaces are gone") {
  const SmallTerms t{mib(1), mib(2), mib(4), mib(8), mib(16), mib(32)};
  const auto at = [&](MemoryMoment m) {
    MemoryTotal sum;
    add_small_terms(t, m, sum);
    return sum.allocated();
  };
  CHECK(at(MemoryMoment::between_steps) == mib(63));
  CHECK(at(MemoryMoment::optimizer_step) == mib(63));
  CHECK(at(MemoryMoment::forward) == mib(63 - 24));
  CHECK(at(MemoryMoment::after_build) == Bytes(0));
}
