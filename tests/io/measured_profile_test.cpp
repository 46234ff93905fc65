// SPDX-License-Identifier: Apache-2.0
// Whose defaults fill a measured row, and as of when.
#include "measured_rows.hpp"

using namespace shardfit;
using namespace shardfit::io_test;

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
  const auto runs = read("[" + row("issue", "q", "") + "," + row("perf-guide", "q", "") + "," + row("issue", "other", "") +
                         "," + row("issue", "q", "functional") + "," + row("issue", "", "") + "," + row("perf-guide", "", "") +
                         "]");
  const auto stack = [&](int i) { return runs[std::size_t(i)].scenario.job.stack.name; };
  CHECK(stack(0) == "megatron-bridge-perf");
  CHECK(stack(2) == "megatron-bridge-2026-08");
  CHECK(stack(3) == "megatron-bridge-2026-08");
  CHECK(stack(4) == "megatron-bridge-2026-08");  // rows without a group are compared with nothing
}

TEST_CASE("older code deals out whole tensors") {
  const auto runs = io::load_measured(kMeasured + "memory.json");
  const std::string muon = "megatron-lm/moe/gpt3_moe_mcore_te_ep8_resume_torch_dist_dist_muon";
  CHECK(find(runs, muon + "/dev_dgx_h100").scenario.job.stack.layerwise_whole_tensors);
  CHECK_FALSE(find(runs, muon + "_param_layout/dev_dgx_h100").scenario.job.stack.layerwise_whole_tensors);
}

TEST_CASE("the fused loss makes an fp32 gradient since the container of 26.08") {
  const auto has = [](const std::string& fields) {
    const auto runs = read(
        (R"([{"id": "a", "model": "Llama-3-8B", "hardware": "gb200-nvl72", "gpus": 8, "status": "published", )" + fields +
         R"("training": {"sequence_length": 8192, "global_batch_size": 128}, "layout": {}}])")
            .c_str());
    return runs[0].scenario.job.stack.te_fp32_loss_gradient;
  };
  CHECK(has(R"("release": "26.08", "date": "2026-08-11", )"));
  CHECK_FALSE(has(R"("release": "26.06.01", "date": "2026-07-21", )"));
  CHECK_FALSE(has(R"("date": "2026-08-12", )"));  // names no container
  CHECK(has(R"("release": "HEAD", "date": "2026-08-22", )"));
  CHECK(has(R"("stack": {"te_fp32_loss_gradient": true}, )"));
}
