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
       {"memory.json", "throughput.json", "published_layouts.json", "reported_runs.json"}) {
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
  CHECK(r.scenario.base.tp == 4);   // inferred, not stated: within the key-value heads
  CHECK(std::any_of(r.scenario.assumptions.begin(), r.scenario.assumptions.end(),
                    [](const std::string& a) { return a.find("tp 4 is assumed") == 0; }));
  CHECK(r.scenario.job.training.optimizer.grad_buffer_dtype == DType::bf16);
  CHECK(r.scenario.job.training.vision.has_value());
  CHECK_FALSE(r.tuned);
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

TEST_CASE("words that are no numbers make a row unsupported, not wrong") {
  const auto runs = read(
      R"([{"id": "a", "model": "Qwen3-8B", "hardware": "h100-hgx", "gpus": 8, "training": {"sequence_length": 2048,
    "global_batch_size": 8}, "layout": {"offload": {"activation": "checkpoints to CPU"}, "recompute": {"granularity": "selective",
    "modules": ["mhc", "moe_act"]}}, "stack": {"software": "NeMo AutoModel, DeepEP, fused linear CE", "framework": "torch_fsdp2"},
    "measured": {"outcome": "fits"}}])");
  REQUIRE(runs[0].unsupported.size() == 2);
  CHECK(runs[0].unsupported[0] == "activation offload is given in words: checkpoints to CPU");
  CHECK(runs[0].scenario.base.dispatcher == Dispatcher::deepep);
  CHECK(runs[0].scenario.job.stack.chunked_cross_entropy);
  CHECK(runs[0].scenario.job.stack.framework == Framework::torch_fsdp2);
  CHECK(runs[0].oom == false);
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
    "training": {"sequence_length": 4096, "global_batch_size": 8}, "layout": {"first_stage_layers": 16, "last_stage_layers": 20}}])");
  CHECK(runs[0].scenario.space.split.at(0).text == "Et*4|(t*4|)*14t*1mL");
  CHECK(runs[1].scenario.base.split.kind == SplitKind::uniform);
  CHECK(runs[2].scenario.base.split.text == "Et*1|(t*2|)*30L");
  CHECK(runs[3].scenario.base.split.text == "Et*4|(t*4|)*14tL");
  CHECK(runs[3].scenario.job.stack.date == "2025-12-09");
  CHECK(runs[4].scenario.base.split.kind == SplitKind::uniform);
}

TEST_CASE("effects read, each with both of its runs carried") {
  const auto effects = io::load_effects(kFolder + "effects.json");
  CHECK(effects.size() >= 100);
  for (const auto& e : effects) {
    CAPTURE(e.id);
    CHECK((e.measured.has_value() || !e.outcome.empty()));
  }
}
