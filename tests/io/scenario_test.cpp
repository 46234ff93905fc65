// SPDX-License-Identifier: Apache-2.0
// Scenario files: what ships reads; defaults follow the stack; "all" is written out; errors point at the
// field.
#include <doctest/doctest.h>

#include <algorithm>

#include "files.hpp"
#include "io/load.hpp"

using namespace shardfit;
using io_test::message_of;

namespace {

/// A small valid scenario with one place for more layout fields and one for more blocks.
std::string text(const std::string& layout, const std::string& more = "", const std::string& training = "",
                 const std::string& model = "Qwen3-30B-A3B") {
  return R"({"model": ")" + model +
         R"(", "hardware": "h100-hgx", "gpus": 16, "training": {"sequence_length": 4096,
    "global_batch_size": 64)" +
         training + R"(}, "layout": {)" + layout + "}" + more + "}";
}

Scenario read(const std::string& t) { return io::parse_scenario(t, "s.json"); }
std::string error(const std::string& t) {
  return message_of([&] { read(t); });
}

bool says(const Scenario& s, const std::string& words) {
  return std::any_of(s.assumptions.begin(), s.assumptions.end(),
                     [&](const std::string& a) { return a.find(words) != std::string::npos; });
}

template <class T>
bool holds(const std::vector<T>& values, const T& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

TEST_CASE("every scenario that ships reads") {
  CHECK(io::list_scenarios().size() >= 6);
  for (const std::string& name : io::list_scenarios()) {
    CAPTURE(name);
    const Scenario s = io::load_scenario(name);
    CHECK(s.job.gpus > 0);
    CHECK(s.space.tp.size() > 1);
    CHECK(s.assumptions.empty());
  }
}

TEST_CASE("the flagship is what it claims to be") {
  const Scenario s = io::load_scenario("qwen3-vl-235b-gb200");
  CHECK(s.job.model.name == "Qwen3-VL-235B-A22B");
  CHECK(s.job.gpus == 64);
  CHECK(s.job.training.sequence_length == 4096);
  CHECK(s.job.training.global_batch_size == 1024);
  CHECK(s.job.training.frozen.empty());
  CHECK(s.job.training.routing == Routing::natural);
  CHECK(s.job.training.optimizer.grad_buffer_dtype == DType::bf16);
  REQUIRE(s.job.training.vision.has_value());
  CHECK(s.job.training.vision->visual_tokens_per_image == 800);
  CHECK(s.job.training.vision->spread == 0.8);
  CHECK(s.space.tp == std::vector<int>{1, 2, 4, 8, 16, 32, 64});
  CHECK(s.space.cp == std::vector<int>{1, 2, 4});
  CHECK(s.space.ep == std::vector<int>{1, 2, 4, 8, 16, 32, 64});
  CHECK(s.space.micro_batch_size == std::vector<int>{1, 2, 4, 8, 16});
  CHECK(s.space.sharding == std::vector<Sharding>{Sharding::optimizer, Sharding::full});
  // Every set of {core_attn, moe_act, layernorm, moe} but those with both moe and moe_act: 15 - 4; none; 5
  // block; 1 uniform.
  CHECK(s.space.recompute.size() == 18);
  PipelineSplit recipe;  // NVIDIA's own for eight stages: ten layers first, twelve last
  recipe.kind = SplitKind::first_last;
  recipe.first_stage_layers = 10;
  recipe.last_stage_layers = 12;
  CHECK(holds(s.space.split, recipe));
  CHECK(s.space.dispatcher.size() == 3);
  CHECK(s.space.expert_alltoall_overlap.size() == 2);
}

TEST_CASE("a fixed layout is a space of one") {
  const Scenario s = read(text(R"("tp": 2, "pp": 2, "ep": 4, "vpp": 3, "recompute": {"granularity": "selective",
    "modules": ["moe_act", "layernorm"]})"));
  CHECK(s.space.tp == std::vector<int>{2});
  CHECK(s.space.vpp == std::vector<int>{3});
  CHECK(s.space.recompute.size() == 1);
  CHECK(s.space.recompute[0].modules == EnumSet<RecomputeModule>{RecomputeModule::moe_act, RecomputeModule::layernorm});
  CHECK(s.base.sequence_parallel);  // Bridge: on where tp > 1
  CHECK(s.sequence_parallel_above_tp_1);
  CHECK(says(s, "layout.sequence_parallel"));
  CHECK(says(s, "stack megatron-bridge-2026-08 is assumed (stack.profile)"));
}

TEST_CASE("sequence parallelism waits for a tp above 1") {
  const Scenario stated = read(text(R"("ep": 4, "sequence_parallel": true)")),
                 off = read(text(R"("ep": 4, "sequence_parallel": false)"));
  CHECK_FALSE(stated.base.sequence_parallel);
  CHECK(stated.sequence_parallel_above_tp_1);
  CHECK_FALSE(off.sequence_parallel_above_tp_1);
}

TEST_CASE("defaults follow the entry point") {
  const std::string lm = R"(, "stack": "megatron-lm-2026-08")", fsdp = R"(, "stack": {"profile": "torch-fsdp2"})",
                    perf = R"(, "stack": {"profile": "megatron-bridge-perf", "permute_fusion": false})";
  const Scenario a = read(text(R"("tp": 2)", lm)), b = read(text(R"("tp": 2)")), c = read(text("", fsdp)),
                 d = read(text(R"("tp": 2)", perf));
  CHECK(a.base.etp == 2);
  CHECK(b.base.etp == 1);
  CHECK(a.base.sharding == Sharding::none);
  CHECK(b.base.sharding == Sharding::optimizer);
  CHECK(c.base.sharding == Sharding::full_torch);
  CHECK(a.base.sequence_parallel);  // Megatron-LM forces it for MoE with tp > 1
  CHECK_FALSE(read(text(R"("tp": 2)", lm, "", "Llama-3-8B")).base.sequence_parallel);
  CHECK_FALSE(a.base.overlap.grad_reduce);
  CHECK(b.base.overlap.grad_reduce);
  CHECK(b.job.training.optimizer.grad_buffer_dtype == DType::fp32);
  CHECK(d.job.training.optimizer.grad_buffer_dtype == DType::bf16);
  CHECK(c.job.training.optimizer.exp_avg_dtype == DType::bf16);
  CHECK(c.job.training.vocab_padding_multiple == 1);
  CHECK(d.job.training.routing == Routing::balanced);
  CHECK(d.job.stack.cross_entropy == CrossEntropy::te_fused);
  CHECK_FALSE(d.job.stack.permute_fusion);
  CHECK(read(text(R"("sharding": "full")", fsdp)).base.sharding == Sharding::full_torch);
  CHECK(read(text(R"("sharding": "full")")).base.sharding == Sharding::full);
}

TEST_CASE("assumed values fill in and win") {
  const Scenario s = read(
      text(R"("tp": 1)", R"(, "assumed": {"tp": 4, "pp": 2, "sequence_length": 8192, "grad_buffer_dtype": "bf16"})"));
  CHECK(s.base.tp == 4);
  CHECK(s.base.pp == 2);
  CHECK(s.job.training.sequence_length == 8192);
  CHECK(s.job.training.optimizer.grad_buffer_dtype == DType::bf16);
  CHECK(error(text("", R"(, "assumed": {"tpp": 4})")).find("s.json: /assumed/tpp: got unknown key \"tpp\"") == 0);
}

TEST_CASE("axes: a value, a list, ranges, all") {
  const Scenario s = read(text("", R"(, "search": {"tp": 2, "pp": [1, 4], "ep": {"from": 1, "to": 16},
    "micro_batch_size": {"from": 1, "to": 5, "step": 2}, "recompute": ["none", "full", "moe_act+layernorm"],
    "cuda_graph": ["none", "full_iteration"], "split": ["all", {"pipeline_layout": "Et*24|t*24L"}]})"));
  CHECK(s.space.tp == std::vector<int>{2});
  CHECK(s.space.pp == std::vector<int>{1, 4});
  CHECK(s.space.ep == std::vector<int>{1, 2, 4, 8, 16});
  CHECK(s.space.micro_batch_size == std::vector<int>{1, 3, 5});
  CHECK(s.space.recompute.size() == 3);
  CHECK(s.space.recompute[1].granularity == RecomputeGranularity::full);
  CHECK(s.space.recompute[2].modules.size() == 2);
  CHECK(s.space.split.front().kind == SplitKind::uniform);
  CHECK(s.space.split.back().kind == SplitKind::layout_string);
  CHECK(s.base.sequence_parallel);
}

TEST_CASE("parts of a layout as tables print them") {
  const auto layout = [](const char* fields) { return read(text(fields)).base; };
  const Layout full = layout(R"("pp": 2, "recompute": "full:block:4", "split": "first_last:20:28")");
  CHECK(full.recompute.method == RecomputeMethod::block);
  CHECK(full.recompute.num_layers == 4);
  CHECK(full.split.first_stage_layers == 20);
  const Layout parts = layout(R"("recompute": "selective:moe_act+layernorm", "cuda_graph": "transformer_engine:attn")");
  CHECK(parts.recompute.modules.size() == 2);
  CHECK(parts.cuda_graph.scopes == EnumSet<GraphScope>{GraphScope::attn});
  CHECK(layout(R"("recompute": "moe_act")").recompute.granularity == RecomputeGranularity::selective);
  CHECK_THROWS_AS(layout(R"("recompute": "full:blok:4")"), InputError);
  CHECK_THROWS_AS(layout(R"("cuda_graph": "full_iteration:attn")"), InputError);
}

TEST_CASE("layout fields in the forms that runs have them") {
  const Scenario s = read(text(R"("pp": 2, "pipeline_layout": "Et*12|t*12|t*12|t*12L", "dispatcher": "flex",
    "cuda_graph": {"impl": "transformer_engine", "scopes": ["whole_layer"]},
    "offload": {"activation": {"fine_grained_modules": ["expert_fc1"]}, "optimizer": {"fraction": 0.5, "overlap": true}},
    "recompute": {"granularity": "selective", "modules": []}, "cp_comm_type": "a2a+p2p")"));
  CHECK(s.base.split.kind == SplitKind::layout_string);
  CHECK(s.base.vpp == 2);  // four parts over two stages
  CHECK(s.base.dispatcher == Dispatcher::deepep);
  CHECK(says(s, "flex"));
  CHECK(s.base.cuda_graph.scopes.contains(GraphScope::attn));
  CHECK(s.base.cuda_graph.scopes.contains(GraphScope::moe_router));
  CHECK(s.base.offload.activation_modules == EnumSet<OffloadModule>{OffloadModule::expert_fc1});
  CHECK(s.base.offload.optimizer_fraction == 0.5);
  CHECK(s.base.recompute.granularity == RecomputeGranularity::none);
  CHECK(s.base.cp_comm_type == CpCommType::a2a_p2p);
}

TEST_CASE("errors point at the field and say what would do") {
  CHECK(error(text(R"("tpp": 2)")).find("s.json: /layout/tpp: got unknown key \"tpp\", expected one of ") == 0);
  CHECK(error(text(R"("sequence_paralel": true)")).ends_with("did you mean \"sequence_parallel\"?"));
  CHECK(error(text(R"("tp": 0)")) == "s.json: /layout/tp: got 0, expected a whole number from 1 to 16");
  CHECK(error(text(R"("tp": "2")")) == "s.json: /layout/tp: got \"2\", expected a whole number from 1 to 16");
  CHECK(error(text("", R"(, "serach": {})")).ends_with("did you mean \"search\"?"));
  CHECK(error(text(R"("tp": 2)", R"(, "search": {"tp": "all"})")) ==
        "s.json: /layout/tp: got 2, expected this field here or in /search, not in both");
  CHECK(error(text("", R"(, "search": {"tp": [2, 2]})")) == "s.json: /search/tp: got a list, expected each value once");
  CHECK(error(text("", R"(, "search": {"tp": []})")).find("/search/tp: got a list") != std::string::npos);
  CHECK(error(text("", R"(, "search": {"dispatcher": "deepp"})")).ends_with("did you mean \"deepep\"?"));
  CHECK(error(text("", "", R"(, "precision": "bf66")")).ends_with("did you mean \"bf16\"?"));
  CHECK(error(text("", "", R"(, "vision": {"data": "mock"})")).find("/training/vision") != std::string::npos);
  CHECK(error(text("", "", R"(, "frozen": ["language_model"])"))
            .find("/training/frozen: got a list, expected a list that leaves a part") != std::string::npos);
  CHECK(error(R"({"model": "Qwen3-30B", "hardware": "h100-hgx", "gpus": 1, "training": {}, "layout": {}})")
            .find("s.json: /model: got \"Qwen3-30B\"") == 0);
  CHECK(error(R"({"model": "Qwen3-8B", "hardware": "h100-hgx", "gpus": 0, "training": {}, "layout": {}})") ==
        "s.json: /gpus: got 0, expected a whole number from 1 to 1000000");
  CHECK(error(R"({"model": "Qwen3-8B", "hardware": "h100-hgx", "gpus": 8, "training": {}, "layout": {}})") ==
        "s.json: /training/sequence_length: got nothing, expected a value for \"sequence_length\"");
  CHECK(error(R"({"model": "Qwen3-8B", "hardware": "h100-hgx", "gpus": 8, "training": {"sequence_length": 0,
    "global_batch_size": 8}, "layout": {}})")
            .find("/training/sequence_length: got 0, expected a whole number") != std::string::npos);
}

TEST_CASE("vision-language training: what LoRA adapts is said, nothing to train and clips that loaders thin out are refused") {
  const auto with = [](const std::string& training, const char* model) { return text("", "", training, model); };
  const std::string lora = R"(, "task": "lora", "lora": {"target_modules": [)";
  CHECK(says(read(with(lora + R"("linear_qkv"]})", "Qwen3-VL-8B")), "LoRA adapts the tower too"));
  CHECK(says(read(with(lora + R"("linear_fc1"]})", "Qwen3-VL-8B")), "LoRA adapts the tower and its mergers too"));
  CHECK(says(read(with(lora + R"("linear_qkv"]})", "GLM-4.5V")), "LoRA adapts the language model alone"));
  const std::string decoder_frozen = R"(, "frozen": ["language_model"])";
  CHECK(read(with(lora + R"("linear_qkv"]})" + decoder_frozen, "Qwen3-VL-8B")).job.training.frozen.size() == 1);
  CHECK(error(with(lora + R"("linear_qkv"]})" + decoder_frozen, "GLM-4.5V")).find("/training/frozen: got a list") !=
        std::string::npos);
  const std::string swift =
      R"({"model": "Qwen3-VL-8B", "hardware": "h100-hgx", "gpus": 8, "stack": "ms-swift", "layout": {}, "training":
    {"sequence_length": 4096, "global_batch_size": 64)";
  CHECK(read(swift + "}}").job.training.frozen == EnumSet<ModelPart>{ModelPart::vision_model, ModelPart::vision_projection});
  CHECK(read(swift + R"(, "frozen": []}})").job.training.frozen.empty());
  const auto clip = [](const char* frames) {
    return std::string(R"(, "vision": {"image_size": [640, 360], "frames": )") + frames + "}";
  };
  CHECK(read(with(clip("768"), "Qwen3-VL-8B")).job.training.vision->frames == 768);
  CHECK(error(with(clip("769"), "Qwen3-VL-8B")).find("/training/vision/frames: got 769, expected at most 768 frames") !=
        std::string::npos);
  CHECK(read(with(clip("769"), "Kimi-K2.5")).job.training.vision->frames == 769);
}

TEST_CASE("an inline model reads with its optional keys left out") {
  const Scenario s = read(
      R"({"model": {"name": "tiny", "text": {"num_hidden_layers": 2, "hidden_size": 64, "vocab_size": 100,
    "mixers": {"a": {"kind": "gqa", "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16}},
    "mlps": {"d": {"kind": "dense", "intermediate_size": 256}}, "layers": [{"repeat": 2, "blocks": [{"mixer": "a", "mlp": "d"}]}]}},
    "hardware": "h100-hgx", "gpus": 1, "training": {"sequence_length": 128, "global_batch_size": 1}, "layout": {}})");
  CHECK(s.job.model.text.layers.size() == 2);
  CHECK(s.job.model.source_file.empty());
}

TEST_CASE("dropping tokens pads experts to capacity with Megatron-Bridge, and nowhere else unless told") {
  const char* drop = R"(, "token_drop": true, "expert_capacity_factor": 1.0)";
  const Scenario bridge = read(text("", "", drop));
  CHECK(bridge.job.training.pad_to_capacity);
  CHECK(says(bridge, "training.pad_to_capacity"));
  CHECK_FALSE(read(text("", "", std::string(drop) + R"(, "pad_to_capacity": false)")).job.training.pad_to_capacity);
  CHECK_FALSE(read(text("", R"(, "stack": "megatron-lm-2026-08")", drop)).job.training.pad_to_capacity);
}
