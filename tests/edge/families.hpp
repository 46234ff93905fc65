// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "io/load.hpp"
#include "shardfit/estimate/estimator.hpp"

// One small scenario for each family of memory techniques, also of those that measured runs have few of.

namespace shardfit::families {

struct Family {
  const char* name;
  const char* model;
  const char* training;  ///< members of the training block, beside sequence length and batch
  const char* layout;    ///< members of the layout block
  const char* stack = "megatron-bridge-2026-08";
  const char* hardware = "h100-hgx";
  const char* switches = "";  ///< members of the stack block, beside its profile
};

inline const std::vector<Family>& all() {
  static const std::vector<Family> families = {
      {"plain", "Llama-3-8B", "", R"("tp": 2)"},
      {"no distributed optimizer", "Llama-3-8B", "", R"("tp": 8, "sharding": "none")"},
      {"Megatron-FSDP", "Llama-3-8B", "", R"("sharding": "full")"},
      {"Megatron-FSDP, gradients only", "Llama-3-8B", "", R"("sharding": "optimizer_grads")"},
      {"HSDP", "Llama-3-8B", "", R"("sharding": "full", "optimizer_instances": 2)"},
      {"FSDP2", "Llama-3-8B", "", R"("sharding": "full")", "torch-fsdp2"},
      {"optimizer instances", "Llama-3-8B", "", R"("optimizer_instances": 2)"},
      {"optimizer offload", "Llama-3-8B", R"(, "optimizer": {"precision_aware": true})",
       R"("offload": {"optimizer_fraction": 0.5})"},
      {"activation offload", "Qwen3-30B-A3B", R"(, "routing": "balanced")",
       R"("ep": 8, "offload": {"activation_modules": ["expert_fc1", "moe_act"]})"},
      {"full recompute", "Llama-3-8B", "", R"("recompute": "full")"},
      {"selective recompute", "Qwen3-30B-A3B", "", R"("ep": 8, "recompute": "moe_act+layernorm")"},
      {"full-iteration graph", "Llama-3-8B", "", R"("cuda_graph": "full_iteration")"},
      {"scoped graphs", "Qwen3-30B-A3B", R"(, "routing": "balanced")",
       R"("ep": 8, "cuda_graph": {"impl": "transformer_engine", "scopes": ["attn"]})"},
      {"LoRA", "Llama-3-8B", R"(, "task": "lora", "lora": {"rank": 16, "target_modules": ["linear_qkv"]})", ""},
      {"precision-aware optimizer", "Llama-3-8B",
       R"(, "optimizer": {"precision_aware": true, "exp_avg_dtype": "bf16", "exp_avg_sq_dtype": "bf16"})", ""},
      {"Muon", "Llama-3-8B", R"(, "optimizer": {"kind": "muon"})", R"("sharding": "none")"},
      {"layer-wise Muon", "Llama-3-8B", R"(, "optimizer": {"kind": "muon"})", R"("sharding": "layerwise")"},
      {"mxfp8", "Llama-3-8B", R"(, "precision": "mxfp8")", "", "megatron-bridge-perf", "b200-hgx"},
      {"nvfp4", "Llama-3-8B", R"(, "precision": "nvfp4")", "", "megatron-bridge-perf", "b200-hgx"},
      {"fp8, blocks", "Llama-3-8B", R"(, "precision": "fp8_blockwise")", ""},
      {"pipeline with chunks", "Llama-3-8B", "", R"("pp": 4, "vpp": 2)"},
      {"context parallelism", "Llama-3-8B", "", R"("cp": 4)"},
      {"experts over NCCL", "Qwen3-30B-A3B", "", R"("ep": 8, "dispatcher": "alltoall")"},
      {"experts over HybridEP", "Qwen3-30B-A3B", "", R"("ep": 8, "dispatcher": "hybridep")"},
      {"MLA and MTP", "DeepSeek-V3", R"(, "mtp_layers": 1)", R"("ep": 8, "pp": 1)"},
      {"Mamba and experts", "Nemotron-3-Nano-30B-A3B", "", R"("ep": 8)"},
      {"context parallelism, a2a", "Llama-3-8B", "", R"("cp": 4, "cp_comm_type": "a2a")"},
      {"fp8, per tensor", "Llama-3-8B", R"(, "precision": "fp8_tensorwise", "fp8_param_gather": true)", ""},
      {"fp8, per tensor, bf16 weights", "Llama-3-8B", R"(, "precision": "fp8_tensorwise", "fp8_param_gather": false)", ""},
      {"fp8, delayed scaling", "Llama-3-8B", R"(, "precision": "fp8_delayed", "fp8_param_gather": true)", ""},
      {"mxfp8, bf16 weights", "Llama-3-8B", R"(, "precision": "mxfp8", "fp8_param_gather": false)", "", "megatron-bridge-perf",
       "b200-hgx"},
      {"nvfp4, bf16 weights", "Llama-3-8B", R"(, "precision": "nvfp4", "fp8_param_gather": false)", "", "megatron-bridge-perf",
       "b200-hgx"},
      {"local graphs", "Llama-3-8B", "", R"("cuda_graph": "local")", "megatron-lm-2026-08"},
      {"compressed keys", "DeepSeek-V4-Flash", R"(, "routing": "balanced")", R"("ep": 8)"},
      {"frozen tower", "Qwen3-VL-8B", R"(, "frozen": ["vision_model", "vision_projection"])", ""},
      {"latent and shared experts", "Nemotron-3-Super-120B-A12B", R"(, "routing": "balanced")", R"("ep": 8)"},
      {"experts over allgather", "Qwen3-30B-A3B", "", R"("ep": 8, "dispatcher": "allgather")"},
      {"older layer-wise Muon", "Llama-3-8B", R"(, "optimizer": {"kind": "muon"})", R"("sharding": "layerwise")",
       "megatron-bridge-2026-08", "h100-hgx", R"(, "layerwise_whole_tensors": true)"},
      {"sparse attention", "DeepSeek-V3.2", R"(, "mtp_layers": 0, "routing": "balanced")",
       R"("ep": 8, "recompute": "mla_up_proj")"},
      {"Gemma-4", "Gemma-4-26B-A4B", R"(, "text_only": true, "routing": "balanced")", R"("ep": 8, "recompute": "moe")"},
      {"reward model", "Qwen3-8B", R"(, "task": "sft", "task_type": "seq_cls")", R"("tp": 2)"},
      {"gated DeltaNet", "Qwen3.5-35B-A3B", R"(, "text_only": true)", R"("ep": 8)"},
  };
  return families;
}

inline Scenario scenario_of(const Family& f) {
  const std::string text = std::string(R"({"model": ")") + f.model + R"(", "hardware": ")" + f.hardware +
                           R"(", "gpus": 8, "training": {"sequence_length": 4096, "global_batch_size": 32)" + f.training +
                           R"(}, "layout": {)" + f.layout + R"(}, "stack": {"profile": ")" + f.stack + R"(")" + f.switches +
                           "}}";
  return io::parse_scenario(text, std::string(f.name) + ".json");
}

/// The family of a name.
inline Scenario scenario_of(const std::string& name) {
  for (const Family& f : all())
    if (f.name == name) return scenario_of(f);
  throw std::runtime_error("no family " + name);
}

}  // namespace shardfit::families
