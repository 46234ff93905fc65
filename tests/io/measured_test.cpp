// SPDX-License-Identifier: Apache-2.0
// The measured runs that are carried here read without a fault, and what was measured arrives as stated.
#include "measured_rows.hpp"

using namespace shardfit;
using namespace shardfit::io_test;

TEST_CASE("every carried row reads") {
  for (const char* file :
       {"memory.json", "throughput.json", "published_layouts.json", "reported_runs.json", "free_reports.json"}) {
    const auto runs = io::load_measured(kMeasured + file);
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
  const auto runs = io::load_measured(kMeasured + "throughput.json");
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
  const auto runs = io::load_measured(kMeasured + "throughput.json");
  const MeasuredRun& r = find(runs, "vlm-qwen3vl235b-3d-gb200-64-mbs4");
  CHECK(r.fields.at("assumed.tp") == "8");
  CHECK(r.scenario.base.tp == 8);
  CHECK(r.scenario.job.training.optimizer.grad_buffer_dtype == DType::bf16);
  CHECK(r.scenario.job.training.vision.has_value());
  CHECK_FALSE(r.tuned);
}

TEST_CASE("fine-tuning recipes of vision-language models train on receipts") {
  const auto runs = io::load_measured(kMeasured + "throughput.json");
  CHECK(find(runs, "card-qwen3.6-35b-a3b-peft-h100-16").scenario.job.training.vision->preset == "cord-receipts");
  CHECK(find(runs, "card-qwen3.6-35b-a3b-sft-gb200-8").scenario.job.training.vision->preset == "cord-receipts");
  CHECK(find(runs, "vlm-qwen3vl235b-fsdp-gb200-64").scenario.job.training.vision->preset.empty());
}

TEST_CASE("bytes of every rank") {
  const auto runs = io::load_measured(kMeasured + "memory.json");
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
