// SPDX-License-Identifier: Apache-2.0
// The data files that ship: all of them read, and figures are the ones their sources state.
#include <doctest/doctest.h>

#include <algorithm>

#include "files.hpp"
#include "io/load.hpp"

using namespace shardfit;
using io_test::message_of;

TEST_CASE("all 47 models read, layers written out") {
  const auto names = io::list_models();
  CHECK(names.size() == 47);
  for (const std::string& name : names) {
    CAPTURE(name);
    const ModelSpec m = io::load_model(name);
    CHECK(m.name == name);
    CHECK(m.text.layers.size() == std::size_t(m.text.num_hidden_layers));
    for (const BlockRef& b : m.text.layers) {
      CHECK(b.mixer < int(m.text.mixers.size()));
      CHECK(b.mlp < int(m.text.mlps.size()));
    }
  }
}

TEST_CASE("Qwen3-VL-235B: decoder, tower and DeepStack") {
  const ModelSpec m = io::load_model("Qwen3-VL-235B-A22B");
  CHECK(m.text.num_hidden_layers == 94);
  CHECK(m.text.hidden_size == 4096);
  const auto& gqa = std::get<GqaSpec>(m.text.mixers.at(0).kind);
  CHECK(gqa.num_attention_heads == 64);
  CHECK(gqa.num_key_value_heads == 4);
  CHECK(gqa.qk_norm == QkNorm::per_head);
  CHECK_FALSE(gqa.sliding_window.has_value());
  const auto& moe = std::get<MoeMlpSpec>(m.text.mlps.at(0).kind);
  CHECK(moe.num_experts == 128);
  CHECK(moe.num_experts_per_tok == 8);
  CHECK(moe.intermediate_size == 1536);
  REQUIRE(m.vision.has_value());
  CHECK(m.vision->depth == 27);
  CHECK(m.vision->position_table_size == 2304);
  CHECK(m.vision->merger.layernorm);
  REQUIRE(m.vision->deepstack.has_value());
  CHECK(m.vision->deepstack->vision_layer_indexes == std::vector<int>{8, 16, 24});
  CHECK(m.vision->deepstack->merger.norm_after_merge);
  REQUIRE_FALSE(m.exact_params.empty());
  CHECK(m.exact_params[0].value == 235670022896);
}

TEST_CASE("DeepSeek-V3: three dense layers, then experts, one MTP layer") {
  const ModelSpec m = io::load_model("DeepSeek-V3");
  CHECK(m.text.layers[2].mlp != m.text.layers[3].mlp);
  CHECK(std::holds_alternative<DenseMlpSpec>(m.text.mlps[std::size_t(m.text.layers[2].mlp)].kind));
  const auto& moe = std::get<MoeMlpSpec>(m.text.mlps[std::size_t(m.text.layers[3].mlp)].kind);
  CHECK(moe.num_experts == 256);
  CHECK(moe.router.n_group == 8);
  CHECK(moe.shared_expert->intermediate_size == 2048);
  CHECK(std::get<MlaSpec>(m.text.mixers[0].kind).q_lora_rank == 1536);
  CHECK(m.text.mtp->num_layers == 1);
}

TEST_CASE("a model by alias, and one that nobody knows") {
  CHECK(io::load_model("DeepSeek-R1").name == "DeepSeek-V3");
  CHECK(message_of([] { io::load_model("DeepSeek-V5"); }) ==
        "model: got \"DeepSeek-V5\", expected a name in models/ or a path that ends in .json; did you mean "
        "\"DeepSeek-V3\"?");
}

TEST_CASE("all 7 clusters read, every figure with a source") {
  const auto names = io::list_hardware();
  CHECK(names ==
        std::vector<std::string>{"a100-hgx", "b200-hgx", "b300-hgx", "gb200-nvl72", "gb300-nvl72", "h100-hgx", "h200-hgx"});
  for (const std::string& name : names) {
    CAPTURE(name);
    const HardwareSpec h = io::load_hardware(name);
    CHECK(h.name == name);
    CHECK(h.gpu.gemm[Math::bf16].rate_tflops > 0);
    // A burst GEMM cannot beat the datasheet.
    for (std::size_t i = 0; i < kCount<Math>; ++i) {
      const auto math = static_cast<Math>(i);
      CHECK(h.gpu.gemm[math].rate_tflops <= h.gpu.peak_tflops[math].value);
    }
    CHECK(std::any_of(h.gpu.attention.begin(), h.gpu.attention.end(), [](const auto& c) { return c.head_dim == 128; }));
    CHECK(std::any_of(h.gpu.attention.begin(), h.gpu.attention.end(), [](const auto& c) { return c.head_dim == 0; }));
    CHECK_FALSE(h.gpu.hbm_tb_per_s.source.empty());
    CHECK(h.gpu.memory_usable_gib.value < h.gpu.memory_nominal_gb.value);
  }
}

TEST_CASE("figures spot-checked against their sources") {
  const HardwareSpec gb200 = io::load_hardware("gb200-nvl72"), h100 = io::load_hardware("h100-hgx"),
                     gb300 = io::load_hardware("gb300-nvl72");
  CHECK(gb200.gpu.peak_tflops[Math::bf16].value == 2500);
  CHECK(gb200.gpu.memory_usable_gib.value == 184.31);
  CHECK(gb200.gpu.memory_usable_gib.kind == FigureKind::measured);
  CHECK(gb200.gpu.hbm_tb_per_s.value == 7.7);
  CHECK(gb200.fabric.nvlink_domain_gpus == 72);
  CHECK(gb200.fabric.placed_per_domain == 64);
  CHECK(gb200.node.gpus == 4);
  CHECK(h100.gpu.gemm[Math::bf16].rate_tflops == 799);
  CHECK(h100.gpu.gemm[Math::mxfp8].rate_tflops == 0);
  CHECK(h100.gpu.sustained_factor.kind == FigureKind::fitted);
  CHECK(h100.gpu.sustained_factor.value > 0.75);
  CHECK(h100.gpu.sustained_factor.value < 1.05);
  CHECK(gb300.fabric.nic_gb_per_s.value == 100);
  CHECK(gb300.fabric.nic_alltoall_gb_per_s.value == 24);
  CHECK(gb300.fabric.nic_dispatch_gb_per_s.value == 50);
}

TEST_CASE("the shared coefficients lie inside their ranges") {
  const TimeCoefficients t = io::load_coefficients();
  for (const FittedValue& v : t.values) {
    CHECK(v.low <= v.value);
    CHECK(v.value <= v.high);
    CHECK_FALSE(v.meaning.empty());
  }
  CHECK(t[Coefficient::host_launch_us] > 3);  // a launch through PyTorch costs microseconds, not tens of them
  CHECK(t[Coefficient::host_launch_us] < 15);
}

TEST_CASE("stack profiles read and say where they are from") {
  for (const std::string& name : io::list_stacks()) {
    CAPTURE(name);
    CHECK(io::load_stack(name).name == name);
    CHECK_FALSE(io::load_stack(name).source.empty());
  }
  CHECK(io::load_stack("megatron-bridge-perf").cross_entropy == CrossEntropy::te_fused);
  CHECK(io::load_stack("megatron-lm-2026-08").cross_entropy == CrossEntropy::unfused);
  CHECK_FALSE(io::load_stack("torch-fsdp2").transformer_engine);
}
