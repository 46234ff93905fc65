// SPDX-License-Identifier: Apache-2.0
// Edges of the rules on precision, optimizers, FSDP and vision towers.
#pragma once

#include <vector>

#include "layout/edges/edge.hpp"

namespace shardfit::test {

inline std::vector<Edge> precision_edges() {
  return {
      {"fp8_params_need_fp8", dense_job(),
       set([](Job& j, Layout&) { j.training.fp8_param_gather = true, j.training.precision = Precision::mxfp8; }),
       set([](Job& j, Layout&) { j.training.precision = Precision::bf16; }), 0, 1},
      {"fp8_params_need_sharding", megatron_lm(dense_job()),
       set([](Job& j, Layout&) { j.training.fp8_param_gather = true, j.training.precision = Precision::mxfp8; }),
       set([](Job&, Layout& l) { l.sharding = Sharding::none; }), 0, 1},
      {"bf16_ends_delayed", dense_job(),
       set([](Job& j, Layout&) { j.training.first_last_layers_bf16 = true, j.training.precision = Precision::mxfp8; }),
       set([](Job& j, Layout&) { j.training.precision = Precision::fp8_delayed; }), 1, 0},
      {"bf16_ends_fit_stage", dense_job(), set([](Job& j, Layout& l) {
         j.training.first_last_layers_bf16 = true, j.training.precision = Precision::mxfp8;
         l.pp = 8;
       }),
       set([](Job&, Layout& l) { l.pp = 16; }), 1, 0},
      {"bf16_ends_fit_stage", dense_job(), set([](Job& j, Layout& l) {
         j.training.first_last_layers_bf16 = true, j.training.precision = Precision::mxfp8;
         j.training.num_layers_at_end_in_bf16 = 2;
         l.pp = 4;
       }),
       set([](Job& j, Layout&) { j.training.num_layers_at_end_in_bf16 = 3; }), 3, 2},
      {"fp8_output_proj_mxfp8", dense_job(),
       set([](Job& j, Layout&) { j.training.fp8_output_proj = true, j.training.precision = Precision::mxfp8; }),
       set([](Job& j, Layout&) { j.training.precision = Precision::nvfp4; }), 0, 1},
      {"fp8_output_proj_weight", dense_job(), set([](Job& j, Layout& l) {
         j.training.fp8_output_proj = true, j.training.precision = Precision::mxfp8;
         j.model.text.tie_word_embeddings = true;
         l.pp = 2;
       }),
       set([](Job&, Layout& l) { l.pp = 1; }), 1, 0},
      {"fp8_output_proj_deferred", dense_job(), set([](Job& j, Layout& l) {
         j.training.fp8_output_proj = true, j.training.precision = Precision::mxfp8;
         l.pp = 2;
       }),
       set([](Job& j, Layout&) { j.stack.deferred_embedding_wgrad = true; }), 1, 0},
      {"fp8_output_proj_te", dense_job(),
       set([](Job& j, Layout&) { j.training.fp8_output_proj = true, j.training.precision = Precision::mxfp8; }),
       set([](Job& j, Layout&) { j.stack.transformer_engine = false; }), 0, 1},
      {"quant_recipe_te", dense_job(), set([](Job& j, Layout&) {
         j.training.precision = Precision::mxfp8;
         j.training.quant_recipe.modules[LinearModule::linear_qkv] = Precision::bf16;
       }),
       set([](Job& j, Layout&) { j.stack.transformer_engine = false; }), 0, 1},
      {"fp8_output_proj_hybrid", hybrid_job(), set([](Job& j, Layout&) {
         j.training.precision = Precision::mxfp8;
         Mamba2Spec& mamba = std::get<Mamba2Spec>(j.model.text.mixers.back().kind);
         mamba.num_heads = 32, mamba.head_dim = 4;  // widths that mxfp8 takes
       }),
       set([](Job& j, Layout&) { j.training.fp8_output_proj = true; }), 32, 0},
      {"precision_on_gpu", dense_job(), set([](Job& j, Layout&) {
         j.hardware.gpu.peak_tflops[Math::bf16].value = j.hardware.gpu.peak_tflops[Math::mxfp8].value = 312;
         j.training.precision = Precision::mxfp8;
       }),
       set([](Job& j, Layout&) { j.training.quant_recipe.modules[LinearModule::linear_qkv] = Precision::nvfp4; }), 0, 1},
      {"precision_on_gpu", dense_job(), set([](Job& j, Layout&) { j.hardware.gpu.peak_tflops[Math::bf16].value = 312; }),
       set([](Job& j, Layout&) { j.training.precision = Precision::nvfp4; }), 0, 1},
  };
}

inline std::vector<Edge> optimizer_edges() {
  const Change muon = set([](Job& j, Layout& l) {
    j.training.optimizer.kind = OptimizerKind::muon;
    l.sharding = Sharding::layerwise;
  });
  const Change overlaps = set([](Job&, Layout& l) { l.overlap.param_gather = l.overlap.grad_reduce = true; });
  return {
      {"param_overlap_sharding", megatron_lm(dense_job()), overlaps, set([](Job&, Layout& l) { l.sharding = Sharding::none; }),
       0, 1},
      {"param_overlap_grad_overlap", megatron_lm(dense_job()), overlaps,
       set([](Job&, Layout& l) { l.overlap.grad_reduce = false; }), 0, 1},
      {"instances_need_sharding", dense_job(), set([](Job&, Layout& l) { l.optimizer_instances = 2; }),
       set([](Job&, Layout& l) { l.sharding = Sharding::none; }), 2, 1},
      {"layerwise_instances", dense_job(), muon, set([](Job&, Layout& l) { l.optimizer_instances = 2; }), 2, 1},
      {"layerwise_needs_muon", dense_job(), muon, set([](Job& j, Layout&) { j.training.optimizer.kind = OptimizerKind::adam; }),
       0, 1},
      {"precision_aware_adam", dense_job(), set([](Job& j, Layout&) { j.training.optimizer.precision_aware = true; }),
       set([](Job& j, Layout&) { j.training.optimizer.kind = OptimizerKind::sgd; }), 0, 1},
      {"state_types", dense_job(), set([](Job& j, Layout&) {
         j.training.optimizer.precision_aware = true;
         j.training.optimizer.exp_avg_dtype = j.training.optimizer.exp_avg_sq_dtype = DType::bf16;
       }),
       set([](Job& j, Layout&) { j.training.optimizer.precision_aware = false; }), 2, 0},
  };
}

inline std::vector<Edge> fsdp_edges() {
  const Change full = set([](Job&, Layout& l) { l.sharding = Sharding::full; });
  const Change fsdp2 = set([](Job& j, Layout& l) {
    l.sharding = Sharding::full_torch;
    j.stack.grad_accumulation_fusion = false;
  });
  const auto muon = set([](Job& j, Layout&) { j.training.optimizer.kind = OptimizerKind::muon; });
  return {
      {"fsdp_optimizer", megatron_lm(dense_job()), full, muon, 1, 0},
      {"fsdp_expert_overlap_pp", moe_job(), both(full, expert_overlap), set([](Job&, Layout& l) { l.pp = l.vpp = 2; }), 2, 1},
      {"fsdp_expert_overlap_buffer", moe_job(), both(full, expert_overlap),
       set([](Job&, Layout& l) { l.fsdp_double_buffer = true; }), 1, 0},
      {"fsdp_expert_overlap_graphs", moe_job(), both(full, expert_overlap), graphs(kTe, {GraphScope::attn}), 1, 0},
      {"double_buffer_needs_fsdp", dense_job(), both(full, set([](Job&, Layout& l) { l.fsdp_double_buffer = true; })),
       set([](Job&, Layout& l) { l.sharding = Sharding::optimizer; }), 0, 1},
      {"fsdp2_pp", megatron_lm(dense_job()), fsdp2, set([](Job&, Layout& l) { l.pp = 2; }), 2, 1},
      {"fsdp2_ep", megatron_lm(moe_job()), fsdp2, set([](Job&, Layout& l) { l.ep = 2; }), 2, 1},
      {"fsdp2_fusion", megatron_lm(dense_job()), fsdp2, set([](Job& j, Layout&) { j.stack.grad_accumulation_fusion = true; }),
       1, 0},
      {"fsdp2_untied", megatron_lm(dense_job()), fsdp2, set([](Job& j, Layout&) { j.model.text.tie_word_embeddings = true; }),
       1, 0},
      {"fsdp2_fp16", megatron_lm(dense_job()), fsdp2, set([](Job& j, Layout&) { j.training.precision = Precision::fp16; }), 1,
       0},
      {"fsdp2_muon", megatron_lm(dense_job()), fsdp2, muon, 1, 0},
      {"torch_layerwise", torch_tools(dense_job()), full, set([](Job&, Layout& l) { l.sharding = Sharding::layerwise; }), 1, 0},
  };
}

inline std::vector<Edge> vision_edges() {
  return {
      {"tp_divides_vision_heads", vision_job(), set([](Job&, Layout& l) { l.tp = 4, l.sequence_parallel = true; }),
       set([](Job&, Layout& l) { l.tp = 8; }), 8, 4},
      {"tp_divides_vision_ffn", vision_job(), set([](Job&, Layout& l) { l.tp = 4, l.sequence_parallel = true; }),
       set([](Job& j, Layout&) { j.model.vision->intermediate_size = 30; }), 4, 30},
      {"no_virtual_stages", vision_job(), set([](Job&, Layout& l) { l.pp = 2; }), set([](Job&, Layout& l) { l.vpp = 2; }), 2,
       1},
      {"vision_no_context_parallel", vision_job(), set([](Job&, Layout& l) { l.cp = 2; }),
       set([](Job& j, Layout&) { j.model.family = "gemma3"; }), 2, 1},
      {"deepstack_first_stage", vision_job(), set([](Job&, Layout& l) { l.pp = 4; }), set([](Job&, Layout& l) { l.pp = 8; }), 1,
       2},
  };
}

}  // namespace shardfit::test
