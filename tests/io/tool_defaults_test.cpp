// SPDX-License-Identifier: Apache-2.0
// What single tools do where a measured row is silent.
#include "measured_rows.hpp"

using namespace shardfit;
using namespace shardfit::io_test;

namespace {

/// One row of a tool, read.
MeasuredRun tool_row(const std::string& software, const std::string& framework, const std::string& training,
                     const std::string& layout, const std::string& date = "2026-01-15") {
  const auto runs = read(R"([{"id": "a", "date": ")" + date + R"(", "model": "Qwen3-8B", "hardware": "h100-hgx", "gpus": 8,
    "training": )" + training +
                         R"(, "layout": )" + layout + R"(, "stack": {"software": ")" + software + R"(", "framework": ")" +
                         framework + R"("}}])");
  CHECK(runs[0].invalid == "");
  return runs[0];
}

}  // namespace

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
  CHECK(master("ms-swift", "other") == DType::fp32);  // DeepSpeed
  CHECK(master("torchtune", "torch_fsdp2") == DType::bf16);
}

TEST_CASE("what a row calls itself gives way to what it states") {
  const MeasuredRun swift = tool_row("ms-swift", "other", R"({"task": "sft", "sequence_length": 4096})", R"({"tp": 4})");
  CHECK(swift.scenario.job.stack.framework == Framework::megatron);
  CHECK(swift.scenario.job.stack.name == "ms-swift");
  const MeasuredRun lora = tool_row("Megatron-Bridge", "megatron", R"({"task": "sft", "sequence_length": 4096,
    "lora": {"rank": 8, "target_modules": ["q_proj", "v_proj", "o_proj"]}})",
                                    "{}");
  CHECK(lora.scenario.job.training.task == Task::lora);
  CHECK(lora.scenario.job.training.lora->target_modules == std::vector<std::string>{"linear_qkv", "linear_proj"});
  const MeasuredRun odd = tool_row("Megatron-Bridge", "megatron", R"({"task": "sft", "sequence_length": 32710})",
                                   R"({"tp": 4})");
  CHECK(odd.scenario.job.training.sequence_length == 32712);
  const MeasuredRun flat = tool_row("Megatron-Bridge", "megatron", R"({"task": "sft", "sequence_length": 4096})",
                                    R"({"vpp": 4})");
  CHECK(flat.scenario.base.vpp == 1);
}

TEST_CASE("samples are as long as they are, whatever length is allowed") {
  const auto length = [](const char* limit) {
    return tool_row("ms-swift (mcore)", "megatron",
                    std::string(R"({"task": "sft", "packing": false, "sequence_length": )") + limit + "}",
                    R"({"micro_batch_size": 16})")
        .scenario.job.training.sequence_length;
  };
  CHECK(length("2048") == length("8192"));
  CHECK(length("256") == 256);
}
