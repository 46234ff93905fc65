// SPDX-License-Identifier: Apache-2.0
// The conditions that Megatron-Core, Megatron-LM, Megatron-Bridge, Transformer Engine and DeepEP put on a run, read from
// their public sources (Megatron-LM d98e8a64, Megatron-Bridge 067f987d, DeepEP dd758ca and hybrid-ep 94a9f8f6).
#include "layout/rules/conditions.hpp"

namespace shardfit::layout {
namespace {

constexpr std::string_view kByForm = "holds by the form of a layout";

constexpr Condition kConditions[] = {
    // grid, batch, sequence
    {"grid", "ranks of the dense grid", "dense_grid axes_positive", ""},
    {"grid", "ranks of the expert grid", "expert_grid", ""},
    {"grid", "pipeline last in the rank order, or equal data-parallel sizes", "pp_order", ""},
    {"grid", "optimizer instances", "instances_divide_dp instances_divide_edp instances_need_sharding layerwise_instances",
     "the part about weight shards (GTP) is out"},
    {"grid", "global batch, training", "batch", ""},
    {"grid", "global batch, evaluation", "", "evaluation takes the training batch unless told otherwise", Standing::assumed},
    {"sequence", "sequence against cp", "sequence_divides_cp", ""},
    {"sequence", "sequence against sequence parallelism", "sequence_divides_tp", ""},
    {"sequence", "padding multiple of fine-tuning rows", "sequence_divides_cp sequence_divides_tp",
     "the common multiple is divided when both parts are"},
    {"sequence", "sequence of the model and of the data set agree", "", "a run states one sequence length", Standing::by_form},
    {"sequence", "max_position_embeddings reaches the sequence", "positions_beyond_model learned_positions",
     "Megatron-LM asserts it of a flag that costs nothing with rotary positions, and runs raise it: a warning; a refusal "
     "only where positions are a table of weights"},
    {"sequence", "sizes of hierarchical context parallelism", "hierarchical_cp",
     "layouts do not state the two sizes: some pair has to work"},
    {"sequence", "one cp_comm_type a layer", "", "a layout has one for all layers", Standing::by_form},
    {"sequence", "dynamic context parallelism", "", "dynamic CP is not modelled", Standing::out},
    {"sequence", "heads under all-to-all context parallelism", "cp_a2a_heads", ""},
    {"sequence", "sliding window under context parallelism", "window_cp", ""},
    {"sequence", "attention sinks under context parallelism", "sinks_cp", ""},
    {"sequence", "MLA under dynamic context parallelism", "", "dynamic CP is not modelled", Standing::out},
    {"sequence", "sparse attention under context parallelism", "compressed_attention_cp",
     "the part about rope fusion is out: sparse attention kernels are not modelled"},
    {"sequence", "CUDA_DEVICE_MAX_CONNECTIONS", "", "environment variables are not part of a layout", Standing::out},
    {"sequence", "per-token loss when fine-tuning with cp above 1", "",
     "a way to average; Bridge's vision-language providers set it", Standing::assumed},
    {"sequence", "packing offline and inside the micro-batch", "offline_packing_batch batch_packing_batch", ""},
    {"sequence", "padded boundaries of packed rows under graphs", "",
     "runs do not state how the boundaries of packed rows are padded", Standing::assumed},
    {"sequence", "Energon packing", "", "Energon packing is not modelled", Standing::out},
    {"sequence", "rows padded with pp or ep above 1", "rows_padded", "altered by Bridge without being asked: a warning"},

    // tensor parallelism
    {"tensor", "query heads", "tp_divides_heads", ""},
    {"tensor", "key/value heads", "tp_suits_kv_heads", ""},
    {"tensor", "heads of gated DeltaNet", "gdn_key_heads gdn_value_heads gdn_heads_per_group", ""},
    {"tensor", "heads, groups and widths of Mamba",
     "mamba_heads mamba_groups mamba_groups_cp mamba_heads_per_group mamba_fp8_width", ""},
    {"tensor", "widths of linear layers", "tp_divides_ffn tp_divides_shared_expert etp_divides_expert", ""},
    {"tensor", "sequence parallelism needs tp", "sequence_parallel_off",
     "both front ends turn it off before Megatron-Core would refuse it: a warning"},
    {"tensor", "MoE with tp needs sequence parallelism", "moe_tp_needs_sequence_parallel", ""},
    {"tensor", "overlap of tensor-parallel traffic", "tp_overlap_needs_sequence_parallel tp_overlap_off",
     "refused by Megatron-LM, turned off by Bridge"},
    {"tensor", "fused MLA down projection", "", "a layout cannot ask for the fusion", Standing::by_form},
    {"tensor", "MLA without output gate, without grouped-query flag", "", "specs cannot state such a mixer", Standing::by_form},
    {"tensor", "padding of the vocabulary", "tp_divides_vocabulary", "padded vocabularies are multiples of tp"},
    {"tensor", "weight shards (GTP)", "", "GTP is not modelled", Standing::out},

    // pipeline
    {"pipeline", "pipeline dtype", "", "both front ends fill it in", Standing::assumed},
    {"pipeline", "even split", "pp_divides_layers vpp_divides_stage chunks_within_layers", ""},
    {"pipeline", "first and last stage", "middle_stages_divide_layers vpp_divides_uneven_stages", ""},
    {"pipeline", "embedding and loss accounted", "pp_divides_accounted_layers vpp_divides_accounted_stage", ""},
    {"pipeline", "one way to split at a time", "", kByForm, Standing::by_form},
    {"pipeline", "layout string",
     "layout_string_readable pp_divides_layout_string layout_string_sets_vpp layout_string_embedding layout_string_loss "
     "layout_string_layers layout_string_mtp layout_string_mtp_together layout_string_mtp_after_layers "
     "layout_string_mtp_last_virtual_stage",
     ""},
    {"pipeline", "hybrid pattern",
     "hybrid_pattern_readable hybrid_pattern_attention hybrid_pattern_mtp_alike hybrid_pattern_layers "
     "hybrid_pattern_kinds hybrid_pattern_mtp pp_divides_hybrid_pattern hybrid_pattern_sets_vpp",
     ""},
    {"pipeline", "virtual stages need stages", "vpp_needs_pp",
     "the stricter bound without overlap of messages between stages is out: that overlap follows vpp"},
    {"pipeline", "micro-batches under virtual stages",
     "group_reaches_pp group_within_microbatches last_group_reaches_pp group_size_unused", ""},
    {"pipeline", "flags of messages between stages", "", "Bridge and the schedules here set them by vpp", Standing::by_form},
    {"pipeline", "deferred weight gradient of the embedding", "deferred_embedding_wgrad_pp deferred_embedding_wgrad_fusion",
     ""},
    {"vision", "Qwen3-VL: deepstack and virtual stages", "deepstack_first_stage no_virtual_stages", ""},
    {"vision", "Gemma-3, Qwen2.5-VL, GLM-4.5V: context parallelism", "vision_no_context_parallel", ""},
    {"vision", "heads and widths of the tower", "tp_divides_vision_heads tp_divides_vision_ffn", ""},
    {"vision", "Qwen3-VL: per-token loss, Hugging Face tower", "", "Bridge sets the one and has no layout for the other",
     Standing::assumed},

    // mixture of experts
    {"moe", "ep needs experts and divides them", "ep_needs_experts ep_divides_experts", ""},
    {"moe", "one entry of moe_layer_freq a layer", "", "specs list every layer", Standing::by_form},
    {"moe", "group-limited routing", "router_groups router_group_topk", ""},
    {"moe", "pre-softmax for top-1 routing", "", "an order of operations", Standing::assumed},
    {"moe", "scores that allow a correction bias", "",
     "a fact of the model, not of the layout; hand-written specs often leave the score function out", Standing::assumed},
    {"moe", "capacity", "padding_needs_capacity rank_capacity_dispatcher",
     "the part about kinds of balancing loss is out: losses are not modelled; fused or grouped experts behind the rank "
     "capacity are not checked: runs state them rarely"},
    {"moe", "paged stash", "paged_stash_capacity paged_stash_offload", ""},
    {"moe", "library dispatchers and padding", "deepep_padding dispatcher_unused dispatcher_sms_unused",
     "the NCCL EP dispatcher is not modelled"},
    {"moe", "DeepEP group sizes", "deepep_group deepep_ranks", ""},
    {"moe", "router in fp32 under DeepEP", "", "a type that recipes set", Standing::assumed},
    {"moe", "HybridEP", "hybridep_group hybridep_hidden hybridep_domain hybridep_domain_ranks hybridep_experts hybridep_tokens",
     "equal tokens on all ranks: rows are padded where ranks could differ"},
    {"moe", "GPUs of the library dispatchers", "deepep_gpu", "HybridEP runs on every GPU modelled here"},
    {"moe", "overlap of the shared expert",
     "shared_overlap_dispatcher shared_overlap_latent shared_overlap_expert_overlap shared_overlap_off", ""},
    {"moe", "biases in experts", "moe_bias_etp", ""},
    {"moe", "router padding for fp8", "", "the rows it adds are far below the routing imbalance", Standing::assumed},
    {"moe", "fused grouped experts", "fused_experts_etp fused_experts_offload",
     "library versions are out: stacks are dated as a whole"},
    {"moe", "overlap of expert traffic",
     "expert_overlap_ep expert_overlap_dispatcher expert_overlap_precision expert_overlap_vpp "
     "expert_overlap_full_recompute expert_overlap_moe_recompute expert_overlap_mtp expert_overlap_graph_scope",
     ""},
    {"moe", "overlap of expert traffic with Megatron-FSDP",
     "fsdp_expert_overlap_pp fsdp_expert_overlap_buffer fsdp_expert_overlap_graphs", ""},
    {"moe", "delayed weight gradients", "delay_wgrad_overlap delay_wgrad_graph_fusion delay_wgrad_graph_bias",
     "library versions are out: stacks are dated as a whole"},
    {"moe", "early release of attention memory", "", "a layout cannot ask for it", Standing::by_form},

    // recompute, offload, graphs
    {"recompute", "full recompute",
     "full_recompute_layers full_recompute_within_model mtp_uniform_recompute mtp_block_recompute", ""},
    {"recompute", "selective recompute has no layers or method", "recompute_modules_unused", kByForm},
    {"recompute", "modules, and what they need",
     "selective_has_modules recompute_moe_act_grouped recompute_mla recompute_gdn recompute_experts "
     "recompute_shared_expert recompute_dense_mlp recompute_attention recompute_shared_overlap "
     "recompute_delayed_scaling",
     "modules of hyper-connections and of sparse attention (mhc, gdp_in_proj, gdp_qkv) are not modelled"},
    {"recompute", "saved activations distributed over tp", "", "a layout cannot ask for it", Standing::by_form},
    {"offload", "offload of whole layers", "layer_offload_pp layer_offload_layers layer_offload_recompute layer_offload_graphs",
     ""},
    {"offload", "offload of modules",
     "offload_one_kind offload_attn_proj offload_moe_recompute offload_fused_needs_fusion offload_fused_alone "
     "offload_experts offload_needs_te offload_local_graphs offload_moe_graph",
     "environment variables are out"},
    {"graphs", "implementations", "local_graphs_bridge te_graphs_need_te graph_scopes_need_impl",
     "the random number tracker that graphs need is set by the front ends"},
    {"graphs", "scopes",
     "full_iteration_scopes full_iteration_row_counts full_iteration_tower graph_moe_once graph_preprocess_router "
     "graph_router_and_preprocess graph_experts "
     "graph_dense_mlp graph_mamba graph_moe_padded graph_preprocess_sync",
     "lengths that vary under the allgather dispatcher are out: rows have one length"},
    {"graphs", "graphs with recompute",
     "full_recompute_graphs moe_recompute_router_graph graph_attention_dropout graph_hidden_dropout", ""},
    {"graphs", "checks for NaN under a full-iteration graph", "", "recipes turn the check off", Standing::assumed},
    {"graphs", "allocator and NCCL settings under graphs", "", "environment variables are not part of a layout", Standing::out},

    // precision, data parallelism, optimizer, adapters
    {"precision", "fp8 and fp4",
     "fp8_params_need_fp8 bf16_ends_delayed bf16_ends_fit_stage fp8_output_proj_mxfp8 fp8_output_proj_weight "
     "fp8_output_proj_hybrid fp8_output_proj_deferred fp8_output_proj_te quant_recipe_te precision_on_gpu",
     "precisions go by layer at the two ends, by linear module (quant_recipe), and for the output projection"},
    {"precision", "bf16 layers where nothing is quantised", "bf16_ends_unused", "changes nothing: a warning"},
    {"precision", "fp8 parameter gather", "fp8_params_need_sharding",
     "reuse of the gradient buffer follows the front ends' defaults; library versions are out"},
    {"optimizer", "overlap of parameter gathers", "param_overlap_sharding param_overlap_grad_overlap",
     "gathers overlapped with the optimizer step are not modelled"},
    {"fsdp", "Megatron-FSDP", "fsdp_optimizer double_buffer_needs_fsdp fsdp_double_buffer_on fsdp_overlap_on",
     "pipeline stages are allowed; checkpoint formats, environment variables and torch versions are out; turned on "
     "without being asked, and of no cost here: the distributed optimizer, decoupled gradients"},
    {"fsdp", "outer sharding of HSDP", "", "outer ranks hold copies in every layout", Standing::by_form},
    {"fsdp", "Megatron-FSDP version 2", "", "Megatron-FSDP v2 is not modelled", Standing::out},
    {"fsdp", "torch FSDP2",
     "fsdp2_pp fsdp2_ep fsdp2_fusion fsdp2_untied fsdp2_fp16 fsdp2_muon fsdp2_fp8_params_off torch_layerwise",
     "Megatron-LM's limits bind Megatron-LM; torch tools run it with stages and experts"},
    {"optimizer", "precision-aware optimizer",
     "precision_aware_adam state_types optimizer_offload_precision_aware optimizer_offload_fp8_params "
     "optimizer_offload_fraction",
     ""},
    {"optimizer", "Muon", "layerwise_needs_muon layerwise_instances fsdp_optimizer fsdp2_muon muon_layerwise", ""},
    {"optimizer", "averaging in the collective", "", "a layout cannot ask for it", Standing::by_form},
    {"optimizer", "adapters (LoRA)", "", "a pretrained checkpoint and scales; what is frozen is stated by the run",
     Standing::assumed},
    {"sequence", "cp_comm_type without context parallelism", "cp_comm_unused", ""},
};

}  // namespace

std::span<const Condition> conditions() { return kConditions; }

}  // namespace shardfit::layout
