// SPDX-License-Identifier: Apache-2.0
// What a measured row says in words, in older spellings, or beside fields that make it void.
#include "measured_rows.hpp"

using namespace shardfit;
using namespace shardfit::io_test;

TEST_CASE("words that are no numbers are left out, and that is said") {
  const auto runs = read(
      R"([{"id": "a", "model": "Qwen3-8B", "hardware": "h100-hgx", "gpus": 8, "training": {"sequence_length": 2048,
    "global_batch_size": 8}, "layout": {"offload": {"activation": "checkpoints to CPU"}, "recompute": {"granularity": "selective",
    "modules": ["mhc", "moe_act"]}}, "stack": {"software": "NeMo AutoModel, DeepEP, fused linear CE", "framework": "torch_fsdp2"},
    "measured": {"outcome": "fits"}}])");
  CHECK(runs[0].invalid == "");
  CHECK(runs[0].unsupported.empty());
  CHECK(told(runs[0], "given in words, \"checkpoints to CPU\""));
  CHECK(told(runs[0], "recompute of \"mhc\" is not modelled"));
  CHECK(runs[0].scenario.base.offload.activation_layers == 35);  // all but the layer that runs
  CHECK(runs[0].scenario.base.dispatcher == Dispatcher::deepep);
  CHECK(runs[0].scenario.job.stack.chunked_cross_entropy);
  CHECK(runs[0].scenario.job.stack.framework == Framework::torch_fsdp2);
  CHECK(runs[0].oom == false);
}

TEST_CASE("older spellings and void fields take the form of the specs") {
  const auto rows = read(R"([
    {"id": "a", "model": "Llama-3-8B", "hardware": "h100-hgx", "gpus": 8,
     "training": {"precision": "bf16", "sequence_length": 4096, "global_batch_size": 32, "text_only": true, "vision": {"data": "mock"},
                  "packing": {"kind": "offline", "efficiency_pct": 99, "packed_sequence_size": 4096},
                  "optimizer": {"kind": "dist_muon"}},
     "layout": {"pp": 4, "vpp": 2, "pipeline_layout": "Et*2|(t*2|)*14t*2L", "cp_comm_type": ["p2p", "a2a", "p2p"],
                "recompute": {"granularity": "none", "modules": ["core_attn"]},
                "cuda_graph": {"impl": "local", "scopes": ["full_iteration"]}}},
    {"id": "b", "model": "Qwen3-30B-A3B", "hardware": "h100-hgx", "gpus": 8,
     "training": {"precision": "bf16", "sequence_length": 4096, "global_batch_size": 32, "optimizer": {"exp_avg_dtype": "bf16"}},
     "layout": {"ep": 8, "cuda_graph": {"impl": "transformer_engine", "scopes": ["attn", "full_iteration_inference"]},
                "offload": {"activation_modules": ["core_attn", "no_such_module"]}}},
    {"id": "c", "model": "Llama-3-8B", "hardware": "h100-hgx", "gpus": 8,
     "training": {"precision": "bf16", "sequence_length": 4096, "global_batch_size": 32},
     "layout": {"pp": 2, "pipeline_layout": [["embedding", "decoder"], ["decoder", "loss"]],
                "cuda_graph": {"impl": "none", "scopes": ["attn"]}}},
    {"id": "d", "model": "Llama-3-8B", "hardware": "h100-hgx", "gpus": 8, "training": {"precision": "bf16"},
     "layout": {"cuda_graph": {"impl": "local", "scopes": ["full_iteration_inference"]}}}])");
  for (const MeasuredRun& r : rows) {
    CAPTURE(r.id);
    CHECK(r.invalid == "");
  }
  const Layout& a = rows[0].scenario.base;
  CHECK(a.vpp == 4);
  CHECK(a.cp_comm_type == CpCommType::p2p);
  CHECK(a.recompute.granularity == RecomputeGranularity::none);
  CHECK(a.cuda_graph == CudaGraph{.impl = CudaGraphImpl::full_iteration});
  CHECK(a.sharding == Sharding::layerwise);
  CHECK(rows[0].scenario.job.training.optimizer.kind == OptimizerKind::muon);
  for (const char* field : {"(layout.vpp)", "(layout.cp_comm_type)", "(layout.recompute.modules)", "(training.optimizer.kind)",
                            "(training.packing)", "(training.vision)"}) {
    CAPTURE(field);
    CHECK(told(rows[0], field));
  }
  CHECK(rows[1].scenario.base.cuda_graph.scopes == EnumSet<GraphScope>{GraphScope::attn});
  CHECK(told(rows[1], "(layout.cuda_graph)"));
  CHECK(rows[1].scenario.base.offload.activation_modules == EnumSet<OffloadModule>{OffloadModule::core_attn});
  CHECK(told(rows[1], "(layout.offload)"));
  CHECK(rows[1].scenario.job.training.optimizer.precision_aware);
  CHECK(told(rows[1], "(training.optimizer.precision_aware)"));
  CHECK(rows[2].scenario.base.cuda_graph == CudaGraph{});
  CHECK(told(rows[2], "(layout.cuda_graph.scopes)"));
  CHECK(rows[2].scenario.base.split.text == "Et|tL");
  CHECK(rows[3].scenario.base.cuda_graph == CudaGraph{});
}

TEST_CASE("targets of LoRA in other words are those of the fused layers; what is none is refused") {
  const auto rows = read(R"([
    {"id": "a", "model": "Llama-3-8B", "hardware": "h100-hgx", "gpus": 8,
     "training": {"task": "lora", "lora": {"rank": 8, "cls": "CanonicalLoRA",
                  "target_modules": ["linear_q", "linear_k", "linear_proj", "linear_fc1_gate", "down_proj"]}}, "layout": {}},
    {"id": "b", "model": "Llama-3-8B", "hardware": "h100-hgx", "gpus": 8,
     "training": {"task": "lora", "lora": {"target_modules": ["all-linear"]}}, "layout": {}},
    {"id": "c", "model": "Llama-3-8B", "hardware": "h100-hgx", "gpus": 8,
     "training": {"task": "lora", "lora": {"target_modules": ["linear_qvk"]}}, "layout": {}}])");
  const auto targets = [&](int i) { return rows[std::size_t(i)].scenario.job.training.lora->target_modules; };
  CHECK(targets(0) == std::vector<std::string>{"linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"});
  CHECK(targets(1) == LoraSpec{}.target_modules);
  for (const char* field : {"(training.lora.cls)", "(training.lora.target_modules)"}) CHECK(told(rows[0], field));
  CHECK(rows[2].invalid.find("linear_qkv") != std::string::npos);
}

TEST_CASE("what another field of a row says is taken from there") {
  const auto rows = read(R"([
    {"id": "a", "model": "Llama-3-8B", "hardware": "h100-hgx", "gpus": 8, "training": {"lora": {"rank": 8}}, "layout": {}},
    {"id": "b", "model": "Llama-3-8B", "hardware": "h100-hgx", "gpus": 8, "training": {}, "layout": {"sharding": "layerwise"}},
    {"id": "c", "source": "Megatron-LM functional test t", "model": "Qwen3-30B-A3B", "hardware": "h100-hgx", "gpus": 8,
     "training": {}, "layout": {"tp": 2, "ep": 8, "optimizer_instances": 2}}])");
  for (const MeasuredRun& r : rows) CHECK(r.invalid == "");
  CHECK(rows[0].scenario.job.training.task == Task::lora);
  CHECK(rows[1].scenario.job.training.optimizer.kind == OptimizerKind::muon);
  CHECK(rows[2].scenario.base.sharding == Sharding::optimizer);
  CHECK(rows[2].scenario.base.etp == 1);
}

TEST_CASE("a capacity drops tokens unless the row says that none are") {
  const auto rows = read(R"([
    {"id": "a", "model": "Qwen3-30B-A3B", "hardware": "h100-hgx", "gpus": 8, "training": {"expert_capacity_factor": 1.5}, "layout": {"ep": 8}},
    {"id": "b", "model": "Qwen3-30B-A3B", "hardware": "h100-hgx", "gpus": 8,
     "training": {"expert_capacity_factor": 1.5, "token_drop": false}, "layout": {"ep": 8}},
    {"id": "c", "model": "Qwen3-30B-A3B", "hardware": "h100-hgx", "gpus": 8, "training": {}, "layout": {"ep": 8}}])");
  CHECK(rows[0].scenario.job.training.token_drop);
  CHECK_FALSE(rows[0].scenario.job.training.pad_to_capacity);
  CHECK_FALSE(rows[1].scenario.job.training.token_drop);
  CHECK_FALSE(rows[2].scenario.job.training.token_drop);
}

TEST_CASE("a task or a model named after what its end makes has no logits; a name that only sounds like it has") {
  const auto one = [](const std::string& model, const std::string& task) {
    return read(
               R"([{"id": "x", "model": )" + model + R"(, "hardware": "h100-hgx", "gpus": 8, "training": {"task": ")" + task +
               R"(", "sequence_length": 4096, "global_batch_size": 8}, "layout": {"tp": 1}, "measured": {"outcome": "fits"}}])")
        .front()
        .scenario.job.training;
  };
  const auto named = [](const std::string& name) {
    return R"({"name": ")" + name + R"(", "text": {"num_hidden_layers": 2, "hidden_size": 1024, "vocab_size": 32000,
      "position_embedding": {"kind": "rope"}, "norm": {"kind": "rmsnorm"},
      "mixers": {"a": {"kind": "gqa", "num_attention_heads": 8, "num_key_value_heads": 8, "head_dim": 128}},
      "mlps": {"m": {"kind": "dense", "intermediate_size": 4096}}, "layers": [{"repeat": 2, "blocks": [{"mixer": "a", "mlp": "m"}]}]}})";
  };
  CHECK(one("\"Llama-3-8B\"", "rm").task_type == TaskType::seq_cls);
  CHECK(one("\"Llama-3-8B\"", "rm").task == Task::sft);
  CHECK(one(named("Qwen3-Embedding-8B"), "sft").task_type == TaskType::embedding);
  CHECK(one(named("rope_embeddings_untied"), "sft").task_type == TaskType::causal_lm);
}
