// SPDX-License-Identifier: Apache-2.0
// Pipeline stages with terms of round sizes.
#pragma once

#include <array>

#include "memory/outside.hpp"
#include "memory/stage_memory.hpp"

namespace shardfit::memory {

inline Bytes allocated(const StageInputs& in, MemoryMoment moment) {
  MemoryTotal sum;
  stage_memory(in, moment, sum);
  return sum.allocated();
}

inline MemoryLedger ledger(const StageInputs& in, MemoryMoment moment) {
  MemoryLedger rows;
  stage_memory(in, moment, rows);
  return rows;
}

inline ActivationProfile keeping(MemoryTerm term, Bytes bytes) {
  ActivationProfile p;
  p.saved.add(term, bytes);
  return p;
}

inline StaticState state_of(double weights, double gradients, double optimizer) {
  StaticState s;
  s.weights = mib(weights);
  s.gradients = mib(gradients);
  s.master_weights = s.exp_avg = s.exp_avg_sq = mib(optimizer / 3);
  return s;
}

/// DeepSeek-V2 of 4 layers on 8 B200 in two stages, balanced (SimuMax deepseekv2_tp1_ep4_pp2): the last stage
/// has two MoE layers, 1,368 MiB each, and a loss whose logits are small beside the backward of an expert
/// layer.
struct DeepSeekLastStage {
  ActivationProfile moe = keeping(MemoryTerm::saved_experts, mib(1368.156));
  ActivationProfile head = keeping(MemoryTerm::saved_head, mib(80));
  std::array<LiveLayers, 1> layers{};
  StageInputs in;
  DeepSeekLastStage() {
    moe.backward_transient = mib(960 + 80);
    moe.routed_backward = mib(960);
    moe.routed = mib(456);
    head.forward_transient = mib(800);
    layers[0] = {.profile = &moe, .live = 2, .unwinding = 2};
    in.state = state_of(5353.682, 10707.363, 24230.522);
    in.small.workspaces = mib(224);
    in.small.placeholder_weight_gradients = mib(1420.875);
    in.small.kept_p2p = mib(80);
    in.layers = layers;
    in.head = &head;
    in.pipeline_buffers = mib(80);
    in.batch = mib(0.047);
  }
};

/// A small stage with every kind of term in it.
struct FullStage {
  ActivationProfile dense = keeping(MemoryTerm::saved_mlp, mib(100)), moe = keeping(MemoryTerm::saved_experts, mib(300));
  ActivationProfile embedding = keeping(MemoryTerm::saved_embedding, mib(3));
  ActivationProfile vision = keeping(MemoryTerm::saved_vision, mib(40));
  ActivationProfile mtp = keeping(MemoryTerm::saved_mtp, mib(120)), head = keeping(MemoryTerm::saved_head, mib(10));
  std::array<LiveLayers, 2> layers{};
  StageInputs in;
  FullStage() {
    dense.forward_transient = mib(20);
    dense.backward_transient = mib(30);
    moe.routed = mib(200);
    moe.forward_transient = mib(60);
    moe.routed_forward = mib(60);
    moe.backward_transient = mib(90);
    moe.routed_backward = mib(80);
    moe.recompute_working_set = mib(11);
    vision.backward_transient = mib(15);
    head.forward_transient = mib(500);
    layers = {{{.profile = &dense, .live = 4, .unwinding = 1}, {.profile = &moe, .live = 8, .unwinding = 2}}};
    in.state = state_of(500, 1000, 600);
    in.state.gradient_copy_fp32 = mib(77);
    in.state.optimizer_step = mib(5);
    in.small = {mib(96), mib(50), mib(8), mib(16), Bytes(0), mib(96)};
    in.layers = layers;
    in.embedding = &embedding;
    in.vision = &vision;
    in.mtp = &mtp;
    in.mtp_depths = 1;
    in.head = &head;
    in.first_chunk_live = 4;
    in.stream = mib(8);
    in.batch = mib(1);
    in.embedding_gradient = mib(64);
    in.imbalance = 1.25;
  }
};

}  // namespace shardfit::memory
