// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/spec/scenario.hpp"

namespace shardfit::test {

/// A small dense decoder on 16 H100-like GPUs under Megatron-Bridge: 8 layers, 8 heads over 4, hidden 64.
inline Job dense_job() {
  Job job;
  job.gpus = 16;
  job.hardware.gpu.generation = GpuGeneration::hopper;
  job.hardware.node.cpu = HostCpu::x86;
  job.hardware.fabric.placed_per_domain = 8;
  job.training.sequence_length = 128;
  job.training.global_batch_size = 64;
  TextSpec& text = job.model.text;
  text.num_hidden_layers = 8;
  text.hidden_size = 64;
  text.vocab_size = 1000;
  text.max_position_embeddings = 128;
  GqaSpec gqa;
  gqa.num_attention_heads = 8;
  gqa.num_key_value_heads = 4;
  gqa.head_dim = 8;
  text.mixers = {{"full", gqa}};
  DenseMlpSpec mlp;
  mlp.intermediate_size = 96;
  text.mlps = {{"dense", mlp}};
  text.layers.assign(8, BlockRef{0, 0});
  return job;
}

/// The same with 16 experts of 24 and a shared expert of 48 in every layer.
inline Job moe_job() {
  Job job = dense_job();
  MoeMlpSpec moe;
  moe.num_experts = 16;
  moe.num_experts_per_tok = 2;
  moe.intermediate_size = 24;
  moe.shared_expert = SharedExpertSpec{48, false};
  job.model.text.mlps = {{"moe", moe}};
  return job;
}

/// First half of the layers dense, second half MoE.
inline Job mixed_job() {
  Job job = dense_job();
  job.model.text.mlps.push_back(moe_job().model.text.mlps[0]);
  for (std::size_t i = 4; i < 8; ++i) job.model.text.layers[i].mlp = 1;
  return job;
}

inline Job mla_job() {
  Job job = moe_job();
  MlaSpec mla;
  mla.num_attention_heads = 8;
  mla.kv_lora_rank = 16;
  mla.qk_nope_head_dim = 8;
  mla.qk_rope_head_dim = 4;
  mla.v_head_dim = 8;
  job.model.text.mixers = {{"mla", mla}};
  return job;
}

/// Every other layer gated DeltaNet: 4 key heads, 8 value heads.
inline Job gdn_job() {
  Job job = dense_job();
  GatedDeltaNetSpec gdn;
  gdn.num_key_heads = 4;
  gdn.num_value_heads = 8;
  gdn.key_head_dim = gdn.value_head_dim = 8;
  gdn.conv_kernel = 4;
  job.model.text.mixers.push_back({"linear", gdn});
  for (std::size_t i = 0; i < 8; i += 2) job.model.text.layers[i].mixer = 1;
  return job;
}

/// One part a layer, as hybrid models have it: M-M*M-M*.
inline Job hybrid_job() {
  Job job = dense_job();
  Mamba2Spec mamba;
  mamba.num_heads = 8;
  mamba.head_dim = 16;
  mamba.state_size = 16;
  mamba.n_groups = 4;
  mamba.conv_kernel = 4;
  job.model.text.mixers.push_back({"mamba", mamba});
  const BlockRef m{1, -1}, mlp{-1, 0}, attention{0, -1};
  job.model.text.layers = {m, mlp, m, attention, m, mlp, m, attention};
  return job;
}

/// A tower of 4 heads and width 32 with 2 deepstack features; a family that Bridge builds without virtual stages.
inline Job vision_job() {
  Job job = moe_job();
  job.model.family = "qwen3_vl_moe";
  VisionSpec vision;
  vision.depth = 4;
  vision.num_heads = 4;
  vision.intermediate_size = 32;
  vision.deepstack = DeepstackSpec{{1, 2}, {0, 1}, {}};
  job.model.vision = vision;
  return job;
}

/// Attention sinks and a sliding window in every layer.
inline Job window_job() {
  Job job = dense_job();
  auto& gqa = std::get<GqaSpec>(job.model.text.mixers[0].kind);
  gqa.sliding_window = 32;
  gqa.attention_sinks = true;
  return job;
}

inline Job with_mtp(Job job, int depth) {
  job.model.text.mtp = MtpSpec{};
  job.model.text.mtp->num_layers = depth;
  return job;
}

inline Job megatron_lm(Job job) {
  job.stack.entry_point = EntryPoint::megatron_lm;
  return job;
}

inline Job torch_tools(Job job) {
  job.stack.framework = Framework::torch_fsdp2;
  job.stack.entry_point = EntryPoint::torch_tools;
  return job;
}

}  // namespace shardfit::test
