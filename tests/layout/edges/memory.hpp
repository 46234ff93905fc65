// SPDX-License-Identifier: Apache-2.0
// Edges of the rules on recompute, offload and CUDA graphs.
#pragma once

#include <vector>

#include "layout/edges/edge.hpp"

namespace shardfit::test {

inline std::vector<Edge> recompute_edges() {
  const auto no_experts = set([](Job& j, Layout&) { j.model = dense_job().model; });
  return {
      {"full_recompute_layers", dense_job(), full_recompute(1), full_recompute(0), 0, 1},
      {"full_recompute_within_model", dense_job(), full_recompute(8), full_recompute(9), 9, 8},
      {"mtp_uniform_recompute", with_mtp(dense_job(), 1), full_recompute(1), full_recompute(2), 2, 1},
      {"selective_has_modules", dense_job(), selective(RecomputeModule::core_attn),
       set([](Job&, Layout& l) { l.recompute.modules = {}; }), 0, 1},
      {"recompute_moe_act_grouped", moe_job(), selective(RecomputeModule::moe_act),
       set([](Job& j, Layout&) { j.stack.grouped_gemm = false; }), 0, 1},
      {"recompute_mla", mla_job(), selective(RecomputeModule::mla_up_proj), no_experts, 0, 1},
      {"recompute_gdn", gdn_job(), selective(RecomputeModule::gdn_norm_out), no_experts, 0, 1},
      {"recompute_experts", moe_job(), selective(RecomputeModule::moe), no_experts, 0, 1},
      {"recompute_shared_expert", moe_job(), selective(RecomputeModule::shared_experts),
       set([](Job& j, Layout&) { moe_of(j).shared_expert.reset(); }), 0, 1},
      {"recompute_dense_mlp", mixed_job(), selective(RecomputeModule::mlp),
       set([](Job& j, Layout&) { j.model = moe_job().model; }), 0, 1},
      {"recompute_attention", hybrid_job(), selective(RecomputeModule::core_attn), set([](Job& j, Layout&) {
         j.model.text.layers.assign(8, BlockRef{1, -1});
       }),
       0, 1},
      {"recompute_shared_overlap", moe_job(), selective(RecomputeModule::shared_experts),
       set([](Job& j, Layout&) { j.stack.moe_shared_expert_overlap = true; }), 1, 0},
      {"recompute_delayed_scaling", dense_job(), selective(RecomputeModule::layernorm),
       set([](Job& j, Layout&) { j.training.precision = Precision::fp8_delayed; }), 1, 0},
  };
}

inline std::vector<Edge> offload_edges() {
  const Change layers = set([](Job&, Layout& l) { l.offload.activation_layers = 7; });
  const Change lm_offload = set([](Job& j, Layout& l) {
    l.offload.optimizer_fraction = 0.5;
    j.training.optimizer.precision_aware = true;
  });
  return {
      {"layer_offload_pp", dense_job(), layers, set([](Job&, Layout& l) { l.pp = 2; }), 2, 1},
      {"layer_offload_layers", dense_job(), layers, set([](Job&, Layout& l) { l.offload.activation_layers = 8; }), 8, 7},
      {"layer_offload_recompute", dense_job(), layers, full_recompute(1), 1, 0},
      {"layer_offload_graphs", dense_job(), both(layers, graphs(CudaGraphImpl::full_iteration)), graphs(kTe), 1, 0},
      {"offload_one_kind", dense_job(), offload({OffloadModule::core_attn}),
       set([](Job&, Layout& l) { l.offload.activation_layers = 1; }), 1, 0},
      {"offload_attn_proj", dense_job(), offload({OffloadModule::core_attn, OffloadModule::attn_proj}),
       offload({OffloadModule::attn_proj}), 0, 1},
      {"offload_moe_recompute", moe_job(), both(selective(RecomputeModule::layernorm), offload({OffloadModule::moe_act})),
       selective(RecomputeModule::moe), 1, 0},
      {"offload_fused_needs_fusion", moe_job(),
       both(set([](Job& j, Layout&) { j.stack.fused_grouped_mlp = true; }), offload({OffloadModule::fused_group_mlp})),
       set([](Job& j, Layout&) { j.stack.fused_grouped_mlp = false; }), 0, 1},
      {"offload_fused_alone", moe_job(),
       both(set([](Job& j, Layout&) { j.stack.fused_grouped_mlp = true; }), offload({OffloadModule::fused_group_mlp})),
       offload({OffloadModule::fused_group_mlp, OffloadModule::moe_act}), 1, 0},
      {"offload_experts", moe_job(), offload({OffloadModule::moe_act}),
       set([](Job& j, Layout&) { j.model = dense_job().model; }), 0, 1},
      {"offload_needs_te", dense_job(), offload({OffloadModule::core_attn}),
       set([](Job& j, Layout&) { j.stack.transformer_engine = false; }), 0, 1},
      {"offload_local_graphs", megatron_lm(moe_job()),
       both(offload({OffloadModule::moe_act}), graphs(CudaGraphImpl::local, {GraphScope::attn})),
       offload({OffloadModule::moe_act, OffloadModule::mlp_norm}), 1, 0},
      {"offload_moe_graph", moe_job(), both(offload({OffloadModule::core_attn}), graphs(kTe, {GraphScope::attn})),
       both(graphs(kTe, {GraphScope::moe}),
            set([](Job& j, Layout&) { j.training.pad_to_capacity = true, j.training.expert_capacity_factor = 1; })),
       1, 0},
      {"optimizer_offload_fraction", dense_job(), set([](Job&, Layout& l) { l.offload.optimizer_fraction = 1; }),
       set([](Job&, Layout& l) { l.offload.optimizer_fraction = 1.25; }), 125, 100},
      {"optimizer_offload_precision_aware", megatron_lm(dense_job()), lm_offload,
       set([](Job& j, Layout&) { j.training.optimizer.precision_aware = false; }), 0, 1},
      {"optimizer_offload_fp8_params", megatron_lm(dense_job()), lm_offload,
       set([](Job& j, Layout&) { j.training.fp8_param_gather = true, j.training.precision = Precision::mxfp8; }), 1, 0},
  };
}

inline std::vector<Edge> graph_edges() {
  const Change capacity = set(
      [](Job& j, Layout&) { j.training.expert_capacity_factor = 1, j.training.pad_to_capacity = true; });
  const Change dropout = set([](Job& j, Layout&) { j.training.attention_dropout = j.training.hidden_dropout = 0.1; });
  const Change router = graphs(kTe, {GraphScope::moe_router, GraphScope::moe_preprocess});
  return {
      {"local_graphs_bridge", dense_job(), graphs(CudaGraphImpl::full_iteration), graphs(CudaGraphImpl::local), 1, 0},
      {"full_iteration_scopes", dense_job(), graphs(CudaGraphImpl::full_iteration),
       graphs(CudaGraphImpl::full_iteration, {GraphScope::attn}), 1, 0},
      {"full_iteration_row_counts", moe_job(), both(capacity, graphs(CudaGraphImpl::full_iteration)),
       set([](Job& j, Layout&) { j.training.pad_to_capacity = false; }), 1, 0},
      {"full_iteration_tower", vision_job(),
       both(both(capacity, set([](Job& j, Layout&) { j.training.text_only = true; })), graphs(CudaGraphImpl::full_iteration)),
       set([](Job& j, Layout&) { j.training.text_only = false; }), 1, 0},
      {"graph_scopes_need_impl", dense_job(), nothing, graphs(CudaGraphImpl::none, {GraphScope::attn}), 1, 0},
      {"te_graphs_need_te", dense_job(), graphs(kTe), set([](Job& j, Layout&) { j.stack.transformer_engine = false; }), 0, 1},
      {"graph_moe_once", moe_job(), both(capacity, graphs(kTe, {GraphScope::moe})),
       graphs(kTe, {GraphScope::moe, GraphScope::moe_router}), 1, 0},
      {"graph_preprocess_router", moe_job(), router, graphs(kTe, {GraphScope::moe_preprocess}), 0, 1},
      {"graph_experts", moe_job(), router, set([](Job& j, Layout&) { j.model = dense_job().model; }), 0, 2},
      {"graph_dense_mlp", mixed_job(), graphs(kTe, {GraphScope::mlp}), set([](Job& j, Layout&) { j.model = moe_job().model; }),
       0, 1},
      {"graph_mamba", hybrid_job(), graphs(kTe, {GraphScope::mamba}), set([](Job& j, Layout&) { j.model = dense_job().model; }),
       0, 1},
      {"graph_moe_padded", moe_job(), both(capacity, graphs(kTe, {GraphScope::moe})),
       set([](Job& j, Layout&) { j.training.pad_to_capacity = false; }), 0, 1},
      {"graph_preprocess_sync", moe_job(), both(capacity, router),
       set([](Job& j, Layout&) { j.training.pad_to_capacity = false; }), 1, 0},
      {"full_recompute_graphs", dense_job(), both(full_recompute(1), graphs(CudaGraphImpl::full_iteration)), graphs(kTe), 1, 0},
      {"moe_recompute_router_graph", moe_job(), both(selective(RecomputeModule::moe), graphs(kTe, {GraphScope::attn})), router,
       1, 0},
      {"graph_attention_dropout", dense_job(), both(selective(RecomputeModule::core_attn), graphs(kTe)), dropout, 1, 0},
      {"graph_hidden_dropout", dense_job(), both(selective(RecomputeModule::mlp), graphs(kTe, {GraphScope::mlp})), dropout, 1,
       0},
  };
}

}  // namespace shardfit::test
