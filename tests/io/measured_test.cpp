// SPDX-License-Identifier: Apache-2.0
// The measured runs that are carried here read without a fault, and what was measured arrives as stated.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "files.hpp"
#include "io/load.hpp"

using namespace shardfit;
using validation::MeasuredRun;

namespace {

const std::string kFolder = std::string(SHARDFIT_SOURCE_DIR) + "/tests/measured/";

const MeasuredRun& find(const std::vector<MeasuredRun>& runs, const std::string& id) {
  const auto it = std::find_if(runs.begin(), runs.end(), [&](const MeasuredRun& r) { return r.id == id; });
  REQUIRE(it != runs.end());
  return *it;
}

std::vector<MeasuredRun> read(const std::string& rows) {
  const std::string path = "measured_test_rows.json";
  std::ofstream(path) << rows;
  auto runs = io::load_measured(path);
  std::remove(path.c_str());
  return runs;
}

}  // namespace

TEST_CASE("every carried row reads") {
  for (const char* file :
       {"memory.json", "throughput.json", "published_layouts.json", "reported_runs.json", "free_reports.json"}) {
    const auto runs = io::load_measured(kFolder + file);
    CHECK(runs.size() >= 20);
    for (const MeasuredRun& r : runs) {
      CAPTURE(r.id);
      CHECK(r.invalid == "");
      CHECK(r.oom.has_value());
      CHECK(r.scenario.job.training.global_batch_size > 0);
      CHECK(r.scenario.space.tp.size() == 1);
    }
  }
}

TEST_CASE("a published row: quantities, verdict, fields") {
  const auto runs = io::load_measured(kFolder + "throughput.json");
  const MeasuredRun& r = find(runs, "26.08-pretrain-deepseek-v3-gb200-256g-fp8-mx");
  CHECK(r.tuned);
  CHECK(r.quantities.at("step_time_s") == doctest::Approx(13.355129));
  CHECK(r.oom == false);
  CHECK(r.scenario.base.split.text == "Et*4|(t*4|)*14tmL");
  CHECK(r.scenario.base.overlap.expert_alltoall);
  CHECK(r.scenario.job.stack.paged_stash);
  CHECK(r.scenario.job.stack.name == "megatron-bridge-perf");
  CHECK(r.fields.at("layout.pp") == "4");
  CHECK(r.fields.at("pp") == "4");
  CHECK(r.fields.at("hardware") == "gb200-nvl72");
  CHECK(r.fields.at("recompute.modules") == "mla_up_proj");
  CHECK(r.fields.at("tuned") == "true");
}

TEST_CASE("assumed values and missing batches of VLM rows") {
  const auto runs = io::load_measured(kFolder + "throughput.json");
  const MeasuredRun& r = find(runs, "vlm-qwen3vl235b-3d-gb200-64-mbs4");
  CHECK(r.fields.at("assumed.tp") == "8");
  CHECK(r.scenario.base.tp == 8);
  CHECK(r.scenario.job.training.optimizer.grad_buffer_dtype == DType::bf16);
  CHECK(r.scenario.job.training.vision.has_value());
  CHECK_FALSE(r.tuned);
}

TEST_CASE("fine-tuning recipes of vision-language models train on receipts") {
  const auto runs = io::load_measured(kFolder + "throughput.json");
  CHECK(find(runs, "card-qwen3.6-35b-a3b-peft-h100-16").scenario.job.training.vision->preset == "cord-receipts");
  CHECK(find(runs, "card-qwen3.6-35b-a3b-sft-gb200-8").scenario.job.training.vision->preset == "cord-receipts");
  CHECK(find(runs, "vlm-qwen3vl235b-fsdp-gb200-64").scenario.job.training.vision->preset.empty());
}

TEST_CASE("bytes of every rank") {
  const auto runs = io::load_measured(kFolder + "memory.json");
  const auto it = std::find_if(runs.begin(), runs.end(), [](const MeasuredRun& r) { return r.each_rank; });
  REQUIRE(it != runs.end());
  CHECK(it->by_rank.at("peak_allocated_mib_by_rank").size() == std::size_t(it->scenario.job.gpus));
  CHECK(it->scenario.job.stack.entry_point == EntryPoint::megatron_lm);
}

TEST_CASE("a bad row says why and leaves the others alone") {
  const auto runs = read(
      R"([{"id": "a", "model": "Qwen3-8B", "hardware": "h100-hgx", "gpus": 8, "training": {}, "layout": {"tpp": 1}},
    7, {"id": "c", "model": "Qwen3-8B", "hardware": "h100-hgx", "gpus": 8, "training": {"sequence_length": 2048},
        "layout": {"micro_batch_size": 2, "pp": 2}, "measured": {"oom": true, "peak_allocated_gb": 70}}])");
  REQUIRE(runs.size() == 3);
  CHECK(runs[0].invalid.find("measured_test_rows.json: /0/layout/tpp: got unknown key \"tpp\"") == 0);
  CHECK(runs[1].invalid == "measured_test_rows.json: /1: got 7, expected an object");
  CHECK(runs[2].invalid.empty());
  CHECK(runs[2].oom == true);
  CHECK(runs[2].global_batch_assumed);
  CHECK(runs[2].scenario.job.training.global_batch_size == 16);  // 4 replicas x 2 rows x 2 stages to fill
}

TEST_CASE("words that are no numbers are left out, and that is said") {
  const auto runs = read(
      R"([{"id": "a", "model": "Qwen3-8B", "hardware": "h100-hgx", "gpus": 8, "training": {"sequence_length": 2048,
    "global_batch_size": 8}, "layout": {"offload": {"activation": "checkpoints to CPU"}, "recompute": {"granularity": "selective",
    "modules": ["mhc", "moe_act"]}}, "stack": {"software": "NeMo AutoModel, DeepEP, fused linear CE", "framework": "torch_fsdp2"},
    "measured": {"outcome": "fits"}}])");
  CHECK(runs[0].invalid == "");
  CHECK(runs[0].unsupported.empty());
  const auto& notes = runs[0].scenario.assumptions;
  const auto says = [&](const char* word) {
    return std::any_of(notes.begin(), notes.end(), [&](const std::string& n) { return n.find(word) != std::string::npos; });
  };
  CHECK(says("given in words, \"checkpoints to CPU\""));
  CHECK(says("recompute of \"mhc\" is not modelled"));
  CHECK(runs[0].scenario.base.offload.activation_layers == 35);  // all but the layer that runs
  CHECK(runs[0].scenario.base.dispatcher == Dispatcher::deepep);
  CHECK(runs[0].scenario.job.stack.chunked_cross_entropy);
  CHECK(runs[0].scenario.job.stack.framework == Framework::torch_fsdp2);
  CHECK(runs[0].oom == false);
}

namespace {

/// The profile that a row gets, with the given software, source, grade and training block.
std::string profile(const std::string& software, const std::string& source, const std::string& grade,
                    const std::string& training) {
  const auto runs = read(R"([{"id": "a", "source": ")" + source + R"(", "perf_grade": ")" + grade +
                         R"(", "model": "Qwen3-30B-A3B", "hardware": "h100-hgx", "gpus": 16, "training": )" + training +
                         R"(, "layout": {"ep": 16}, "stack": {"software": ")" + software + R"("}}])");
  CHECK(runs[0].invalid == "");
  return runs[0].scenario.job.stack.name;
}

}  // namespace

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
  const auto told = [](const MeasuredRun& r, const char* field) {
    return std::any_of(r.scenario.assumptions.begin(), r.scenario.assumptions.end(),
                       [&](const std::string& note) { return note.find(field) != std::string::npos; });
  };
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
  const auto& notes = rows[0].scenario.assumptions;
  for (const char* field : {"(training.lora.cls)", "(training.lora.target_modules)"})
    CHECK(std::any_of(notes.begin(), notes.end(), [&](const std::string& n) { return n.find(field) != std::string::npos; }));
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

TEST_CASE("whose defaults fill a row goes by its software, its source and what it states") {
  const char* plain = R"({"task": "pretrain", "sequence_length": 4096})";
  CHECK(profile("Megatron-Bridge", "issue", "", plain) == "megatron-bridge-2026-08");
  CHECK(profile("Megatron-Bridge", "issue + skills/nemo-mbridge-perf-memory-tuning", "", plain) == "megatron-bridge-perf");
  CHECK(profile("Megatron-Bridge", "issue", "measured_ab", plain) == "megatron-bridge-perf");
  CHECK(profile("Megatron-Bridge", "perf guide", "functional", plain) == "megatron-bridge-2026-08");
  CHECK(profile("Megatron-Bridge", "examples/model_verification_cards/x", "functional", plain) == "megatron-bridge-perf");
  CHECK(profile("Megatron-Bridge", "examples/model_verification_cards/x", "", R"({"task": "sft"})") ==
        "megatron-bridge-2026-08");
  CHECK(profile("Megatron-Bridge", "card", "", R"({"task": "pretrain", "routing": "balanced"})") == "megatron-bridge-perf");
  CHECK(profile("Megatron-Bridge", "card", "", R"({"task": "pretrain", "precision": "mxfp8"})") == "megatron-bridge-perf");
  CHECK(profile("Megatron-Bridge", "card", "", R"({"task": "sft", "routing": "balanced"})") == "megatron-bridge-2026-08");
  CHECK(profile("megatron-swift", "", "", plain) == "ms-swift");
  CHECK(profile("Megatron-LM", "", "", plain) == "megatron-lm-2026-08");
  CHECK(profile("LLaMA-Factory, FSDP2", "", "", plain) == "torch-fsdp2");
  CHECK(profile("Megatron-Bridge, Megatron-FSDP", "", "", plain) == "megatron-bridge-2026-08");
  CHECK(profile("NeMo-RL (Megatron)", "", "", plain) == "megatron-bridge-2026-08");
  CHECK(profile("", "", "", plain) == "megatron-bridge-2026-08");
}

TEST_CASE("a run that was compared with a benchmark follows its recipe; a card and a functional run keep their own") {
  const auto row = [](const char* source, const char* group, const char* grade) {
    return std::string(R"({"id": "a", "source": ")") + source + R"(", "group": ")" + group + R"(", "perf_grade": ")" + grade +
           R"(", "model": "Qwen3-30B-A3B", "hardware": "h100-hgx", "gpus": 16, "training": {"task": "pretrain",
           "sequence_length": 4096}, "layout": {"ep": 16}, "stack": {"software": "Megatron-Bridge"}})";
  };
  const auto runs = read("[" + row("issue", "q", "") + "," + row("perf-guide", "q", "") + "," + row("issue", "other", "") + "," +
                         row("issue", "q", "functional") + "," + row("issue", "", "") + "," + row("perf-guide", "", "") + "]");
  const auto stack = [&](int i) { return runs[std::size_t(i)].scenario.job.stack.name; };
  CHECK(stack(0) == "megatron-bridge-perf");
  CHECK(stack(2) == "megatron-bridge-2026-08");
  CHECK(stack(3) == "megatron-bridge-2026-08");
  CHECK(stack(4) == "megatron-bridge-2026-08");   // rows without a group are compared with nothing
}

TEST_CASE("what tools do where a row is silent") {
  const auto runs = read(
      R"json([{"id": "pp", "model": "Llama-3-70B", "hardware": "h100-hgx", "gpus": 32, "training": {"sequence_length": 1024,
    "global_batch_size": 32}, "layout": {"tp": 4, "pp": 2, "vpp": 10, "sharding": "full"}, "stack": {"software": "NeMo AutoModel",
    "framework": "torch_fsdp2"}}, {"id": "ep", "model": "gpt-oss-20b", "hardware": "h100-hgx", "gpus": 8, "training":
    {"sequence_length": 4096, "global_batch_size": 256}, "layout": {"sharding": "full"}, "stack": {"software":
    "NeMo AutoModel, DeepEP", "framework": "torch_fsdp2"}}, {"id": "capacity", "model": "Nemotron-3-Super-120B-A12B", "hardware":
    "h100-hgx", "gpus": 64, "training": {"sequence_length": 8192, "global_batch_size": 1280}, "layout": {"pp": 2, "ep": 32},
    "stack": {"software": "Megatron-Bridge, HybridEP, expert capacity 1.10x", "framework": "megatron"}}, {"id": "padding", "model":
    "Qwen3-30B-A3B", "hardware": "a100-hgx", "gpus": 2, "training": {"task": "lora", "sequence_length": 2048, "packing": false,
    "global_batch_size": 64}, "layout": {"ep": 2, "micro_batch_size": 32}, "stack": {"software": "ms-swift (mcore)",
    "framework": "megatron"}}, {"id": "offload", "model": "Qwen3-8B", "hardware": "a100-hgx", "gpus": 8, "training":
    {"sequence_length": 2048, "global_batch_size": 8}, "layout": {"offload": "optimizer_cpu_offload fraction=0.25", "tp": null},
    "stack": {"software": "ms-swift", "framework": "megatron"}}])json");
  for (const MeasuredRun& r : runs) CHECK(r.invalid == "");
  CHECK_FALSE(runs[0].scenario.job.stack.reshard_after_forward);
  CHECK_FALSE(runs[0].scenario.job.stack.gradient_sync_every_microbatch);
  CHECK(runs[0].scenario.job.stack.eager_loss);
  CHECK(runs[1].scenario.base.ep == 8);
  CHECK(runs[2].scenario.job.training.expert_capacity_factor == 1.1);
  CHECK(runs[2].scenario.job.training.token_drop);
  CHECK(runs[2].scenario.base.dispatcher == Dispatcher::hybridep);
  CHECK(runs[3].scenario.job.training.sequence_length == 576);  // 410 x (1 + 3 / sqrt(32)), in steps of 64
  CHECK(runs[4].scenario.base.offload.optimizer_fraction == 0.25);
}

TEST_CASE("a note describes a run and computes nothing") {
  const auto runs = read(R"json([{"id": "a", "model": "Nemotron-3-Nano-30B-A3B", "hardware": "h100-hgx", "gpus": 16,
    "training": {"sequence_length": 8192, "global_batch_size": 16}, "layout": {"ep": 8}, "stack": {"software": "Megatron-Bridge"},
    "note": "HybridEP, EP overlap on, TE CUDA graphs (attn+mamba). raw 60 GB"}])json");
  REQUIRE(runs[0].invalid == "");
  const Layout& layout = runs[0].scenario.base;
  CHECK(layout.dispatcher == Dispatcher::alltoall);
  CHECK(layout.cuda_graph.impl == CudaGraphImpl::none);
  CHECK_FALSE(layout.overlap.expert_alltoall);
}

TEST_CASE("an id computes nothing: that a run resumed is a fact stated beside the rows") {
  auto runs = io::load_measured(kFolder + "memory.json");
  const std::string muon = "megatron-lm/moe/gpt3_moe_mcore_te_ep8_resume_torch_dist_dist_muon";
  CHECK_FALSE(find(runs, muon + "/dev_dgx_h100_2nd").resumed);
  CHECK(validation::state_facts(io::load_facts(kFolder + "facts.json"), runs) == std::vector<int>{38});
  CHECK(find(runs, muon + "/dev_dgx_h100_2nd").resumed);
  CHECK_FALSE(find(runs, muon + "/dev_dgx_h100").resumed);
}

TEST_CASE("older code deals out whole tensors") {
  const auto runs = io::load_measured(kFolder + "memory.json");
  const std::string muon = "megatron-lm/moe/gpt3_moe_mcore_te_ep8_resume_torch_dist_dist_muon";
  CHECK(find(runs, muon + "/dev_dgx_h100").scenario.job.stack.layerwise_whole_tensors);
  CHECK_FALSE(find(runs, muon + "_param_layout/dev_dgx_h100").scenario.job.stack.layerwise_whole_tensors);
}

TEST_CASE("the fused loss makes an fp32 gradient since the container of 26.08") {
  const auto has = [](const std::string& fields) {
    const auto runs = read((R"([{"id": "a", "model": "Llama-3-8B", "hardware": "gb200-nvl72", "gpus": 8, "status": "published", )" + fields +
                            R"("training": {"sequence_length": 8192, "global_batch_size": 128}, "layout": {}}])").c_str());
    return runs[0].scenario.job.stack.te_fp32_loss_gradient;
  };
  CHECK(has(R"("release": "26.08", "date": "2026-08-11", )"));
  CHECK_FALSE(has(R"("release": "26.06.01", "date": "2026-07-21", )"));
  CHECK_FALSE(has(R"("date": "2026-08-12", )"));   // names no container
  CHECK(has(R"("release": "HEAD", "date": "2026-08-22", )"));
  CHECK(has(R"("stack": {"te_fp32_loss_gradient": true}, )"));
}

TEST_CASE("layers that do not divide get the split that recipes use") {
  const auto runs = read(
      R"([{"id": "a", "model": "DeepSeek-V3", "hardware": "h100-hgx", "gpus": 1024, "training": {"sequence_length": 4096,
    "global_batch_size": 8192}, "layout": {"pp": 4, "vpp": 4, "ep": 64}}, {"id": "b", "model": "Qwen3-235B-A22B", "hardware": "h100-hgx",
    "gpus": 256, "training": {"sequence_length": 4096, "global_batch_size": 256}, "layout": {"pp": 2}}, {"id": "c", "model": "DeepSeek-V3",
    "hardware": "h100-hgx", "gpus": 1024, "training": {"sequence_length": 4096, "global_batch_size": 8192, "mtp_layers": 0},
    "layout": {"pp": 8, "vpp": 4}}, {"id": "d", "date": "2025-12-09", "model": "DeepSeek-V3", "hardware": "h100-hgx", "gpus": 1024,
    "training": {"sequence_length": 4096, "global_batch_size": 8192, "mtp_layers": 0}, "layout": {"pp": 4, "vpp": 4,
    "pipeline_layout": "Et*4|(t*4|)*14tmL"}}, {"id": "e", "model": "Qwen3-8B", "hardware": "h100-hgx", "gpus": 8,
    "training": {"sequence_length": 4096, "global_batch_size": 8}, "layout": {"first_stage_layers": 16, "last_stage_layers": 20}},
    {"id": "f", "model": "Qwen3-30B-A3B", "hardware": "h100-hgx", "gpus": 16, "training": {"sequence_length": 4096, "global_batch_size": 64},
    "layout": {"pp": 2, "vpp": 17, "ep": 8}}])");
  CHECK(runs[5].scenario.base.split.text == "Et*1|(t*2|)*14(t*1|)*18t*1L");
  CHECK(runs[0].scenario.space.split.at(0).text == "Et*4|(t*4|)*14t*1mL");
  CHECK(runs[1].scenario.base.split.kind == SplitKind::uniform);
  CHECK(runs[2].scenario.base.split.text == "Et*1|(t*2|)*30L");
  CHECK(runs[3].scenario.base.split.text == "Et*4|(t*4|)*14tL");
  CHECK(runs[3].scenario.job.stack.date == "2025-12-09");
  CHECK(runs[4].scenario.base.split.kind == SplitKind::uniform);
}

TEST_CASE("a file of another kind is refused once, with the flag that takes it") {
  const auto refusal = [](auto load, const char* name) {
    return io_test::message_of([&] { load(kFolder + name); }).substr(kFolder.size());
  };
  CHECK(refusal(io::load_measured, "effects.json") ==
        "effects.json: got a file of effects, expected a list of runs; pass it with --effects beside its runs");
  CHECK(refusal(io::load_measured, "facts.json") ==
        "facts.json: got a file of stated facts, expected a list of runs; pass it with --facts beside the runs");
  CHECK(refusal(io::load_effects, "memory.json") ==
        "memory.json: got a file of measured runs, expected a list of effects; pass it as the file to validate");
  CHECK(refusal(io::load_facts, "effects.json") ==
        "effects.json: got a file of effects, expected a list of facts; pass it with --effects beside its runs");
}

TEST_CASE("a fact states something and says how it is known") {
  const auto refusal = [](const char* text) {
    const std::string path = "measured_test_facts.json";
    std::ofstream(path) << text;
    std::string pointer;
    try {
      io::load_facts(path);
    } catch (const InputError& error) {
      pointer = error.pointer();
    }
    std::remove(path.c_str());
    return pointer;
  };
  CHECK(refusal(R"([{"runs": "a", "resumed": true, "source": "s"}])") == "");
  CHECK(refusal(R"([{"runs": "a", "resumed": false, "source": "s"}])") == "/0/resumed");
  CHECK(refusal(R"([{"runs": "a", "resumed": true, "source": ""}])") == "/0/source");
  CHECK(refusal(R"([{"runs": "a", "source": "s"}])") == "/0/resumed");
  CHECK(refusal(R"([{"runs": "a", "resumed": true, "source": "s", "resume": true}])") == "/0/resume");
}

TEST_CASE("effects read, each with both of its runs carried") {
  const auto effects = io::load_effects(kFolder + "effects.json");
  CHECK(effects.size() >= 100);
  for (const auto& e : effects) {
    CAPTURE(e.id);
    CHECK((e.measured.has_value() || !e.outcome.empty()));
  }
}

namespace {

/// One row of a tool, read.
MeasuredRun tool_row(const std::string& software, const std::string& framework, const std::string& training,
                     const std::string& layout, const std::string& date = "2026-01-15") {
  const auto runs = read(R"([{"id": "a", "date": ")" + date + R"(", "model": "Qwen3-8B", "hardware": "h100-hgx", "gpus": 8,
    "training": )" + training + R"(, "layout": )" + layout + R"(, "stack": {"software": ")" + software +
                         R"(", "framework": ")" + framework + R"("}}])");
  CHECK(runs[0].invalid == "");
  return runs[0];
}

}  // namespace

TEST_CASE("torchtitan's loss: single operations, then compiled, then in chunks") {
  const char *training = R"({"task": "pretrain", "sequence_length": 4096})", *layout = R"({"sharding": "full"})";
  const auto stack = [&](const char* date) {
    return tool_row("torchtitan, compile", "torch_fsdp2", training, layout, date).scenario.job.stack;
  };
  CHECK(stack("2024-12").eager_loss);
  CHECK_FALSE(stack("2025-10-31").eager_loss);
  CHECK_FALSE(stack("2025-10-31").chunked_cross_entropy);
  CHECK(stack("2026-08").chunked_cross_entropy);
  CHECK_FALSE(stack("").eager_loss);
}

TEST_CASE("NeMo-RL's one-hot of a split vocabulary, until it went") {
  const char* training = R"({"task": "sft", "sequence_length": 4096})";
  const auto one_hot = [&](const char* framework, const char* layout, const char* date) {
    return tool_row("NeMo-RL", framework, training, layout, date).scenario.job.stack.one_hot_loss;
  };
  CHECK(one_hot("torch_fsdp2", R"({"tp": 4})", "2025-05-13"));
  CHECK(one_hot("megatron", "{}", "2025-05-13"));
  CHECK_FALSE(one_hot("torch_fsdp2", "{}", "2025-05-13"));
  CHECK_FALSE(one_hot("megatron", "{}", "2025-08-12"));
}

TEST_CASE("whose state is in fp32") {
  const char *training = R"({"task": "sft", "sequence_length": 4096})", *layout = R"({"sharding": "full"})";
  const auto master = [&](const char* software, const char* framework) {
    return tool_row(software, framework, training, layout).scenario.job.training.optimizer.main_params_dtype;
  };
  CHECK(master("torchtitan", "torch_fsdp2") == DType::fp32);
  CHECK(master("prime-rl", "torch_fsdp2") == DType::fp32);
  CHECK(master("ms-swift", "other") == DType::fp32);   // DeepSpeed
  CHECK(master("torchtune", "torch_fsdp2") == DType::bf16);
}

TEST_CASE("what a row calls itself gives way to what it states") {
  const MeasuredRun swift = tool_row("ms-swift", "other", R"({"task": "sft", "sequence_length": 4096})", R"({"tp": 4})");
  CHECK(swift.scenario.job.stack.framework == Framework::megatron);
  CHECK(swift.scenario.job.stack.name == "ms-swift");
  const MeasuredRun lora = tool_row("Megatron-Bridge", "megatron", R"({"task": "sft", "sequence_length": 4096,
    "lora": {"rank": 8, "target_modules": ["q_proj", "v_proj", "o_proj"]}})", "{}");
  CHECK(lora.scenario.job.training.task == Task::lora);
  CHECK(lora.scenario.job.training.lora->target_modules == std::vector<std::string>{"linear_qkv", "linear_proj"});
  const MeasuredRun odd = tool_row("Megatron-Bridge", "megatron", R"({"task": "sft", "sequence_length": 32710})", R"({"tp": 4})");
  CHECK(odd.scenario.job.training.sequence_length == 32712);
  const MeasuredRun flat = tool_row("Megatron-Bridge", "megatron", R"({"task": "sft", "sequence_length": 4096})", R"({"vpp": 4})");
  CHECK(flat.scenario.base.vpp == 1);
}

TEST_CASE("samples are as long as they are, whatever length is allowed") {
  const auto length = [](const char* limit) {
    return tool_row("ms-swift (mcore)", "megatron", std::string(R"({"task": "sft", "packing": false, "sequence_length": )") + limit + "}",
                    R"({"micro_batch_size": 16})").scenario.job.training.sequence_length;
  };
  CHECK(length("2048") == length("8192"));
  CHECK(length("256") == 256);
}

TEST_CASE("a task or a model named after what its end makes has no logits; a name that only sounds like it has") {
  const auto one = [](const std::string& model, const std::string& task) {
    return read(R"([{"id": "x", "model": )" + model + R"(, "hardware": "h100-hgx", "gpus": 8, "training": {"task": ")" + task +
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
