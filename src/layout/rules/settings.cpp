// SPDX-License-Identifier: Apache-2.0
// Which rules are about settings, so that figures of a layout that breaks one still mean something.
#include <algorithm>
#include <string_view>

#include "layout/rules/rule.hpp"

namespace shardfit {
namespace {

/// Refused because the software asserts it, or because a setting would do nothing. Rules that are not here keep sizes whole
/// (what divides what, where layers go) or name a rate that the GPU does not have: without them nothing is defined. Nor is
/// a paged stash without a capacity: what such a run did is not known.
constexpr std::string_view kSettings[] = {
    // tensor, sequence
    "moe_tp_needs_sequence_parallel", "tp_overlap_needs_sequence_parallel", "mamba_fp8_width", "learned_positions", "window_cp",
    "sinks_cp", "compressed_attention_cp", "offline_packing_batch", "batch_packing_batch",
    // pipeline, vision
    "deferred_embedding_wgrad_pp", "deferred_embedding_wgrad_fusion", "no_virtual_stages", "vision_no_context_parallel",
    "deepstack_first_stage",
    // experts
    "moe_bias_etp", "router_groups", "router_group_topk", "padding_needs_capacity", "rank_capacity_dispatcher",
    "paged_stash_offload", "fused_experts_etp", "fused_experts_offload", "shared_overlap_dispatcher", "shared_overlap_latent",
    "shared_overlap_expert_overlap", "deepep_group", "deepep_ranks", "deepep_padding", "deepep_gpu", "hybridep_group",
    "hybridep_hidden", "hybridep_domain_ranks", "hybridep_experts", "hybridep_tokens", "expert_overlap_ep",
    "expert_overlap_dispatcher", "expert_overlap_precision", "expert_overlap_vpp", "expert_overlap_full_recompute",
    "expert_overlap_moe_recompute", "expert_overlap_mtp", "expert_overlap_graph_scope", "delay_wgrad_overlap",
    "delay_wgrad_graph_fusion", "delay_wgrad_graph_bias",
    // recompute, offload
    "full_recompute_within_model", "mtp_uniform_recompute", "recompute_moe_act_grouped", "recompute_mla", "recompute_gdn",
    "recompute_experts", "recompute_shared_expert", "recompute_dense_mlp", "recompute_attention", "recompute_shared_overlap",
    "recompute_delayed_scaling", "layer_offload_pp", "layer_offload_recompute", "layer_offload_graphs", "offload_one_kind",
    "offload_attn_proj", "offload_moe_recompute", "offload_fused_needs_fusion", "offload_fused_alone", "offload_experts",
    "offload_needs_te", "offload_local_graphs", "offload_moe_graph", "optimizer_offload_precision_aware",
    "optimizer_offload_fp8_params",
    // graphs
    "local_graphs_bridge", "full_iteration_scopes", "full_iteration_row_counts", "full_iteration_tower",
    "graph_scopes_need_impl", "te_graphs_need_te", "graph_moe_once", "graph_preprocess_router", "graph_experts",
    "graph_dense_mlp", "graph_mamba", "graph_moe_padded", "graph_preprocess_sync", "full_recompute_graphs",
    "moe_recompute_router_graph", "graph_attention_dropout", "graph_hidden_dropout",
    // precision, optimizer, FSDP
    "fp8_params_need_fp8", "fp8_params_need_sharding", "bf16_ends_delayed", "fp8_output_proj_mxfp8", "fp8_output_proj_weight",
    "fp8_output_proj_hybrid", "fp8_output_proj_deferred", "fp8_output_proj_te", "quant_recipe_te", "param_overlap_sharding",
    "param_overlap_grad_overlap", "precision_aware_adam", "state_types", "fsdp_expert_overlap_pp", "fsdp_expert_overlap_buffer",
    "fsdp_expert_overlap_graphs", "double_buffer_needs_fsdp", "fsdp2_pp", "fsdp2_ep", "fsdp2_fusion", "fsdp2_untied",
    "fsdp2_fp16"};

}  // namespace

bool is_setting(RuleId rule) {
  const std::string_view code = rules()[std::size_t(rule)].code;
  return std::find(std::begin(kSettings), std::end(kSettings), code) != std::end(kSettings);
}

std::span<const std::string_view> setting_rules() { return kSettings; }

}  // namespace shardfit
