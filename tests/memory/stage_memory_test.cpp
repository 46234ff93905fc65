// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "allocation_counter.hpp"
#include "stage_fixture.hpp"

using namespace shardfit;
using namespace shardfit::memory;

TEST_CASE("an MoE last stage peaks in backward, a dense one at its loss") {
  DeepSeekLastStage s;
  CHECK(in_mib(allocated(s.in, MemoryMoment::backward)) == doctest::Approx(45792.8).epsilon(1e-5));
  CHECK(stage_peak(s.in).moment == MemoryMoment::backward);
  s.head.forward_transient = mib(2000);  // a larger vocabulary
  CHECK(stage_peak(s.in).moment == MemoryMoment::forward);
  CHECK(ledger(s.in, MemoryMoment::forward)[MemoryTerm::logits] == mib(2000));
}

TEST_CASE("static memory of that stage: the bill between steps") {
  const DeepSeekLastStage s;
  CHECK(in_mib(allocated(s.in, MemoryMoment::between_steps)) == doctest::Approx(42016.442).epsilon(1e-6));
  CHECK(ledger(s.in, MemoryMoment::between_steps)[MemoryTerm::saved_experts] == Bytes(0));
}

TEST_CASE(
    "twelve unfused layers and their logits on one H100 (te_tp1_pp1_dist_optimizer): 3,930 MiB above "
    "static") {
  const ActivationProfile layer = keeping(MemoryTerm::saved_attention, mib(228));
  ActivationProfile head = keeping(MemoryTerm::saved_head, Bytes(0));
  head.forward_transient = mib(1194);
  const std::array<LiveLayers, 1> layers{{{.profile = &layer, .live = 12, .unwinding = 12}}};
  StageInputs in;
  in.layers = layers;
  in.head = &head;
  CHECK(allocated(in, MemoryMoment::forward) == mib(12 * 228 + 1194));
}

TEST_CASE("the ledger and the total hold the same bytes at every moment") {
  const FullStage s;
  OutsideInputs outside;
  outside.context = mib(600);
  outside.per_communicator = mib(300);
  outside.communicators = 3;
  for (std::size_t m = 0; m < kCount<MemoryMoment>; ++m) {
    MemoryTotal total;
    MemoryLedger rows;
    device_memory(s.in, outside, MemoryMoment(m), total);
    device_memory(s.in, outside, MemoryMoment(m), rows);
    CHECK(total.allocated() == rows.allocated());
    CHECK(total.total() == rows.total());
  }
}

TEST_CASE("forward at the loss: live layers, MTP, head and logits; what the next step replaces is gone") {
  const FullStage s;
  const MemoryLedger rows = ledger(s.in, MemoryMoment::forward);
  CHECK(rows[MemoryTerm::saved_mlp] == mib(400));
  CHECK(rows[MemoryTerm::saved_experts] == mib(2400));
  CHECK(rows[MemoryTerm::saved_embedding] == mib(12));
  CHECK(rows[MemoryTerm::saved_vision] == mib(160));
  CHECK(rows[MemoryTerm::saved_mtp] == mib(120));
  CHECK(rows[MemoryTerm::logits] == mib(500));
  CHECK(rows[MemoryTerm::routing_imbalance] == mib(0.25 * 8 * 200));
  CHECK(rows[MemoryTerm::forward_buffers] == Bytes(0));
  CHECK(rows[MemoryTerm::gradient_copy_fp32] == Bytes(0));
  CHECK(rows[MemoryTerm::kept_p2p] == Bytes(0));
}

TEST_CASE("backward of a layer: its gradients and what recompute made again, no head any more") {
  const FullStage s;
  const MemoryLedger rows = ledger(s.in, MemoryMoment::backward);
  CHECK(rows[MemoryTerm::backward_buffers] == mib(90));
  CHECK(rows[MemoryTerm::recompute_working_set] == mib(11));
  CHECK(rows[MemoryTerm::routing_imbalance] == mib(0.25 * (8 * 200 + 80)));
  CHECK(rows[MemoryTerm::saved_head] == Bytes(0));
  CHECK(rows[MemoryTerm::saved_mtp] == Bytes(0));
  CHECK(rows[MemoryTerm::embedding_gradient] == Bytes(0));
}

TEST_CASE("a huge vocabulary makes the embedding's gradient the dearest of backward, with the chunk unwound") {
  FullStage s;
  const Bytes unwound = mib(100 + 2 * (300 + 0.25 * 200)), layer_event = mib(90 + 0.25 * 80 + 11);
  s.in.embedding_gradient = unwound + layer_event;  // just not enough
  CHECK(ledger(s.in, MemoryMoment::backward)[MemoryTerm::embedding_gradient] == Bytes(0));
  s.in.embedding_gradient += Bytes(1);
  const MemoryLedger rows = ledger(s.in, MemoryMoment::backward);
  CHECK(rows[MemoryTerm::embedding_gradient] == s.in.embedding_gradient);
  CHECK(rows[MemoryTerm::saved_mlp] == mib(300));
  CHECK(rows[MemoryTerm::saved_experts] == mib(1800));
  CHECK(rows[MemoryTerm::backward_buffers] == Bytes(0));
}

TEST_CASE("the first step has no moments and no graphs yet") {
  FullStage s;
  const Bytes peak = std::max(allocated(s.in, MemoryMoment::forward), allocated(s.in, MemoryMoment::backward));
  CHECK(peak - allocated(s.in, MemoryMoment::first_step) == s.in.state.exp_avg + s.in.state.exp_avg_sq);
  s.head.forward_transient = Bytes(0);  // now backward is the dearer
  s.in.mtp = nullptr;
  CHECK(allocated(s.in, MemoryMoment::backward) - allocated(s.in, MemoryMoment::first_step) ==
        s.in.state.exp_avg + s.in.state.exp_avg_sq);
}

TEST_CASE("where activations are small, the first step peaks when its optimizer makes the moments") {
  FullStage s;
  s.in.state = state_of(500, 1000, 60000);
  CHECK(allocated(s.in, MemoryMoment::first_step) == allocated(s.in, MemoryMoment::optimizer_step));
}

TEST_CASE("offload has three groups in flight, one in the first step") {
  FullStage s;
  s.in.state = StaticState{};
  s.in.mtp = nullptr;
  s.moe.offloaded = mib(70);
  CHECK(ledger(s.in, MemoryMoment::forward)[MemoryTerm::forward_buffers] == mib(210));
  CHECK(ledger(s.in, MemoryMoment::first_step)[MemoryTerm::forward_buffers] == mib(70));
  s.layers[1].live = 2;  // never more than there are
  CHECK(ledger(s.in, MemoryMoment::forward)[MemoryTerm::forward_buffers] == mib(140));
}

TEST_CASE("FSDP holds more while a layer runs than at the loss, and the event is chosen with it") {
  FullStage s;
  s.in.fsdp.sharding = Sharding::full;
  s.in.fsdp.shards = 8;
  s.in.fsdp.units = 10;
  s.in.fsdp.unit_elements = 100 * kMiB;
  s.in.fsdp.all_unit_elements = 1000 * kMiB;
  const MemoryLedger running = ledger(s.in, MemoryMoment::forward);
  CHECK(running[MemoryTerm::logits] == Bytes(0));
  CHECK(running[MemoryTerm::fsdp_unsharded_weights] == mib(2 * 100 * (1 + 5)));
  s.head.forward_transient = mib(2000);
  const MemoryLedger loss = ledger(s.in, MemoryMoment::forward);
  CHECK(loss[MemoryTerm::logits] == mib(2000));
  CHECK(loss[MemoryTerm::fsdp_unsharded_weights] == mib(2 * 100));
}

TEST_CASE("after the build there are weights, gradients and master weights only") {
  const FullStage s;
  CHECK(allocated(s.in, MemoryMoment::after_build) == mib(500 + 1000 + 200));
}

TEST_CASE("balanced routing costs no imbalance, and more rows cost in proportion") {
  FullStage s;
  s.in.imbalance = 1;
  const Bytes balanced = allocated(s.in, MemoryMoment::backward);
  CHECK(ledger(s.in, MemoryMoment::backward)[MemoryTerm::routing_imbalance] == Bytes(0));
  s.in.imbalance = 1.125;
  CHECK(allocated(s.in, MemoryMoment::backward) - balanced == mib(0.125 * (8 * 200 + 80)));
}

TEST_CASE("more live layers never cost less; layers on the host cost only what is in flight") {
  FullStage s;
  const Bytes before = allocated(s.in, MemoryMoment::backward);
  s.layers[1].live += 1;
  CHECK(allocated(s.in, MemoryMoment::backward) > before);
  s.layers[1].live -= 1;
  s.layers[1].on_host = 8;
  CHECK(allocated(s.in, MemoryMoment::backward) == before - mib(7 * 350));
  s.layers[1].on_host = 1;  // one layer: moved out, but in flight
  CHECK(allocated(s.in, MemoryMoment::backward) == before);
}

TEST_CASE("full recompute reruns a group of layers at once") {
  FullStage s;
  s.in.rerun_layers = 3;
  CHECK(ledger(s.in, MemoryMoment::backward)[MemoryTerm::recompute_working_set] == mib(33));
}

TEST_CASE("a full-iteration graph keeps the dearer of forward and backward") {
  FullStage s;
  const Bytes eager = eager_activations(s.in);
  CHECK(eager == Bytes(0));
  const Bytes forward = allocated(s.in, MemoryMoment::forward), idle = allocated(s.in, MemoryMoment::between_steps);
  s.in.graphs.impl = CudaGraphImpl::full_iteration;
  CHECK(eager_activations(s.in) == mib(400 + 2400 + 12 + 160 + 120 + 10 + 500 + 400 + 1));
  CHECK(allocated(s.in, MemoryMoment::forward) == forward + eager_activations(s.in) / 2);
  CHECK(allocated(s.in, MemoryMoment::between_steps) == idle);
  MemoryLedger device;
  device_memory(s.in, OutsideInputs{}, MemoryMoment::between_steps, device);
  CHECK(device[MemoryTerm::allocator_reserve] == allocator_reserve(idle, Bytes(0), Fragmentation{}));
  CHECK(device[MemoryTerm::graph_reserve] == eager_activations(s.in) * 3 / 2);
}

TEST_CASE("a stage without layers, head or embedding holds its static part") {
  StageInputs in;
  in.state = state_of(10, 20, 30);
  for (MemoryMoment m : {MemoryMoment::forward, MemoryMoment::backward, MemoryMoment::between_steps})
    CHECK(allocated(in, m) == mib(60));
}

TEST_CASE("stage memory allocates nothing") {
  const FullStage s;
  const long before = test::allocations();
  for (std::size_t m = 0; m < kCount<MemoryMoment>; ++m) {
    MemoryTotal total;
    stage_memory(s.in, MemoryMoment(m), total);
  }
  CHECK(test::allocations() == before);
}
