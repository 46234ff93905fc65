// SPDX-License-Identifier: Apache-2.0
// Every rule at its edge: a layout without any violation, and the smallest change that breaks the rule, with both numbers.
#include "shardfit/layout/rules.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "layout/jobs.hpp"

using namespace shardfit;
using namespace shardfit::test;

namespace {

using Change = std::function<void(Job&, Layout&)>;

/// `good` makes a job and layout without violations, `bad` breaks the rule.
struct Edge {
  std::string_view code;
  Job job;
  Change good, bad;
  std::int64_t got, need;
};

void nothing(Job&, Layout&) {}

Layout plain_layout() {
  Layout layout;
  layout.overlap.param_gather = layout.overlap.grad_reduce = false;
  return layout;
}

Change layout_text(const char* text, int pp, int vpp = 1, SplitKind kind = SplitKind::layout_string) {
  return [=](Job&, Layout& l) {
    l.split.kind = kind;
    l.split.text = text;
    l.pp = pp;
    l.vpp = vpp;
  };
}
Change hybrid_text(const char* text, int pp, int vpp = 1) {
  return layout_text(text, pp, vpp, SplitKind::hybrid_pattern);
}
Change selective(RecomputeModule module) {
  return [=](Job&, Layout& l) {
    l.recompute.granularity = RecomputeGranularity::selective;
    l.recompute.modules = {module};
  };
}
Change full_recompute(int layers, RecomputeMethod method = RecomputeMethod::uniform) {
  return [=](Job&, Layout& l) {
    l.recompute.granularity = RecomputeGranularity::full;
    l.recompute.method = method;
    l.recompute.num_layers = layers;
  };
}
Change graphs(CudaGraphImpl impl, EnumSet<GraphScope> scopes = {}) {
  return [=](Job&, Layout& l) { l.cuda_graph = {impl, scopes}; };
}
Change offload(EnumSet<OffloadModule> modules) {
  return [=](Job&, Layout& l) { l.offload.activation_modules = modules; };
}
Change both(Change a, Change b) {
  return [=](Job& j, Layout& l) {
    a(j, l);
    b(j, l);
  };
}
Change set(void (*change)(Job&, Layout&)) { return change; }
/// A valid layout with overlap of expert traffic.
void expert_overlap(Job&, Layout& l) {
  l.ep = 2;
  l.overlap.expert_alltoall = true;
}
void dispatcher(Layout& l, Dispatcher d, int ep) {
  l.dispatcher = d;
  l.ep = ep;
}
MoeMlpSpec& moe_of(Job& j) { return std::get<MoeMlpSpec>(j.model.text.mlps[0].kind); }
constexpr auto kTe = CudaGraphImpl::transformer_engine;

std::vector<Edge> grid_edges() {
  return {
      {"axes_positive", dense_job(), nothing, set([](Job&, Layout& l) { l.vpp = 0; }), 0, 1},
      {"dense_grid", dense_job(), set([](Job&, Layout& l) { l.tp = l.cp = l.pp = 2; }),
       set([](Job&, Layout& l) { l.pp = 8; }), 32, 16},
      {"expert_grid", moe_job(), set([](Job&, Layout& l) { l.ep = 8, l.pp = 2; }),
       set([](Job&, Layout& l) { l.etp = 2; }), 32, 16},
      {"pp_order", moe_job(), set([](Job&, Layout& l) { l.use_tp_pp_dp_mapping = true, l.pp = l.cp = l.ep = 2; }),
       set([](Job&, Layout& l) { l.ep = 4; }), 2, 4},
      {"batch", dense_job(), set([](Job&, Layout& l) { l.micro_batch_size = 4; }),
       set([](Job&, Layout& l) { l.micro_batch_size = 8; }), 128, 64},
      {"instances_divide_dp", dense_job(), set([](Job&, Layout& l) { l.pp = 2, l.optimizer_instances = 8; }),
       set([](Job&, Layout& l) { l.optimizer_instances = 16; }), 16, 8},
      {"instances_divide_edp", moe_job(), set([](Job&, Layout& l) { l.ep = 4, l.optimizer_instances = 4; }),
       set([](Job&, Layout& l) { l.optimizer_instances = 8; }), 8, 4},
  };
}

std::vector<Edge> tensor_edges() {
  return {
      {"tp_divides_heads", dense_job(), set([](Job&, Layout& l) { l.tp = 8; }), set([](Job&, Layout& l) { l.tp = 16; }),
       16, 8},
      {"tp_suits_kv_heads", dense_job(), set([](Job&, Layout& l) { l.tp = 8; }),
       set([](Job& j, Layout&) { std::get<GqaSpec>(j.model.text.mixers[0].kind).num_key_value_heads = 3; }), 8, 3},
      {"gdn_key_heads", gdn_job(), set([](Job&, Layout& l) { l.tp = l.cp = 2; }), set([](Job&, Layout& l) { l.cp = 4; }),
       8, 4},
      {"gdn_value_heads", gdn_job(), set([](Job&, Layout& l) { l.tp = l.cp = 2; }),
       set([](Job&, Layout& l) { l.tp = 8; }), 16, 8},
      {"gdn_heads_per_group", gdn_job(), nothing,
       set([](Job& j, Layout&) { std::get<GatedDeltaNetSpec>(j.model.text.mixers[1].kind).num_key_heads = 3; }), 3, 8},
      {"mamba_heads", hybrid_job(), set([](Job&, Layout& l) { l.tp = 4, l.cp = 2; }),
       set([](Job&, Layout& l) { l.cp = 4; }), 16, 8},
      {"mamba_groups", hybrid_job(), set([](Job&, Layout& l) { l.tp = 4; }), set([](Job&, Layout& l) { l.tp = 8; }), 8,
       4},
      {"mamba_groups_cp", hybrid_job(), set([](Job&, Layout& l) { l.cp = 4; }),
       set([](Job& j, Layout&) { std::get<Mamba2Spec>(j.model.text.mixers[1].kind).n_groups = 6; }), 4, 6},
      {"mamba_heads_per_group", hybrid_job(), nothing,
       set([](Job& j, Layout&) { std::get<Mamba2Spec>(j.model.text.mixers[1].kind).n_groups = 3; }), 3, 8},
      // 2*8*16 + 2*4*16 + 8 = 392 is no multiple of 16
      {"mamba_fp8_width", hybrid_job(), nothing,
       set([](Job& j, Layout&) { j.training.precision = Precision::fp8_tensorwise; }), 16, 392},
      {"tp_divides_ffn", dense_job(), set([](Job&, Layout& l) { l.tp = 8; }),
       set([](Job& j, Layout&) { std::get<DenseMlpSpec>(j.model.text.mlps[0].kind).intermediate_size = 100; }), 8, 100},
      {"tp_divides_shared_expert", moe_job(), set([](Job&, Layout& l) { l.tp = 4, l.sequence_parallel = true; }),
       set([](Job& j, Layout&) { moe_of(j).shared_expert->intermediate_size = 50; }), 4, 50},
      {"etp_divides_expert", moe_job(), set([](Job&, Layout& l) { l.etp = 8; }), set([](Job&, Layout& l) { l.etp = 16; }),
       16, 24},
      {"tp_divides_vocabulary", dense_job(), set([](Job& j, Layout& l) { l.tp = 8, j.training.vocab_padding_multiple = 1; }),
       set([](Job& j, Layout&) { j.model.text.vocab_size = 1001; }), 8, 1001},
      {"moe_tp_needs_sequence_parallel", moe_job(), set([](Job&, Layout& l) { l.tp = 2, l.sequence_parallel = true; }),
       set([](Job&, Layout& l) { l.sequence_parallel = false; }), 2, 1},
      {"tp_overlap_needs_sequence_parallel", megatron_lm(dense_job()),
       set([](Job&, Layout& l) { l.tp = 2, l.sequence_parallel = l.overlap.tp_comm = true; }),
       set([](Job&, Layout& l) { l.sequence_parallel = false; }), 0, 1},
  };
}

std::vector<Edge> sequence_edges() {
  return {
      {"sequence_divides_cp", dense_job(), set([](Job&, Layout& l) { l.cp = 4; }),
       set([](Job& j, Layout&) { j.training.sequence_length = 124; }), 8, 124},
      {"sequence_divides_tp", dense_job(), set([](Job&, Layout& l) { l.tp = 4, l.sequence_parallel = true; }),
       set([](Job& j, Layout&) { j.training.sequence_length = 126; }), 4, 126},
      {"learned_positions", dense_job(), set([](Job& j, Layout&) { j.model.text.learned_positions = 128; }),
       set([](Job& j, Layout&) { j.training.sequence_length = 129; }), 129, 128},
      {"cp_a2a_heads", dense_job(), set([](Job&, Layout& l) { l.cp = 4, l.cp_comm_type = CpCommType::a2a; }),
       set([](Job&, Layout& l) { l.cp = 8; }), 8, 4},
      {"hierarchical_cp", dense_job(), set([](Job&, Layout& l) { l.cp = 8, l.cp_comm_type = CpCommType::a2a_p2p; }),
       set([](Job&, Layout& l) { l.cp = 2; }), 2, 4},
      {"window_cp", window_job(), set([](Job&, Layout& l) { l.cp = 2, l.cp_comm_type = CpCommType::a2a; }),
       set([](Job&, Layout& l) { l.cp_comm_type = CpCommType::p2p; }), 2, 1},
      {"sinks_cp", window_job(), set([](Job&, Layout& l) { l.cp = 2, l.cp_comm_type = CpCommType::a2a; }),
       set([](Job&, Layout& l) { l.cp_comm_type = CpCommType::all_gather; }), 2, 1},
      {"compressed_attention_cp", dense_job(), set([](Job& j, Layout& l) {
         CompressedMqaSpec mqa;
         mqa.num_attention_heads = 8;
         j.model.text.mixers[0].kind = mqa;
         l.cp = 2, l.cp_comm_type = CpCommType::all_gather;
       }),
       set([](Job&, Layout& l) { l.cp_comm_type = CpCommType::p2p; }), 2, 1},
      {"offline_packing_batch", dense_job(), set([](Job& j, Layout&) { j.training.packing = Packing::offline; }),
       set([](Job&, Layout& l) { l.micro_batch_size = 2; }), 2, 1},
      {"batch_packing_batch", dense_job(),
       set([](Job& j, Layout& l) { j.training.packing = Packing::in_batch, l.micro_batch_size = 2; }),
       set([](Job&, Layout& l) { l.micro_batch_size = 1; }), 1, 2},
  };
}

std::vector<Edge> pipeline_edges() {
  const auto first_last = [](int first, int last) {
    return [=](Job&, Layout& l) {
      l.split.kind = SplitKind::first_last;
      l.split.first_stage_layers = first;
      l.split.last_stage_layers = last;
      l.pp = 4;
    };
  };
  const auto account_loss = set([](Job& j, Layout& l) {
    j.model.text.num_hidden_layers = 7;
    j.model.text.layers.resize(7);
    l.split.kind = SplitKind::accounting, l.split.account_for_loss = true, l.pp = 4;
  });
  return {
      {"vpp_needs_pp", dense_job(), set([](Job&, Layout& l) { l.vpp = l.pp = 2; }), set([](Job&, Layout& l) { l.pp = 1; }),
       1, 2},
      {"pp_divides_layers", dense_job(), set([](Job&, Layout& l) { l.pp = 8; }),
       set([](Job& j, Layout&) { j.model.text.num_hidden_layers = 12; }), 8, 12},
      {"vpp_divides_stage", dense_job(), set([](Job&, Layout& l) { l.pp = 2, l.vpp = 4; }),
       set([](Job&, Layout& l) { l.vpp = 3; }), 3, 4},
      {"chunks_within_layers", torch_tools(dense_job()), set([](Job&, Layout& l) { l.pp = 8; }),
       set([](Job&, Layout& l) { l.pp = 16; }), 16, 8},
      {"middle_stages_divide_layers", dense_job(), first_last(1, 3), first_last(1, 2), 2, 5},
      {"vpp_divides_uneven_stages", dense_job(), both(first_last(2, 2), set([](Job&, Layout& l) { l.vpp = 2; })),
       set([](Job&, Layout& l) { l.split.first_stage_layers = 1, l.split.last_stage_layers = 3; }), 2, 1},
      {"pp_divides_accounted_layers", dense_job(), account_loss,
       set([](Job&, Layout& l) { l.split.account_for_embedding = true; }), 4, 9},
      {"vpp_divides_accounted_stage", dense_job(), both(account_loss, set([](Job&, Layout& l) { l.vpp = 2; })),
       set([](Job&, Layout& l) { l.vpp = 4; }), 4, 2},
      {"group_reaches_pp", dense_job(), set([](Job&, Layout& l) { l.pp = l.vpp = 2, l.microbatch_group_size = 2; }),
       set([](Job&, Layout& l) { l.microbatch_group_size = 1; }), 1, 2},
      {"group_within_microbatches", dense_job(),
       set([](Job&, Layout& l) { l.pp = l.vpp = 2, l.microbatch_group_size = 8; }),
       set([](Job&, Layout& l) { l.microbatch_group_size = 9; }), 9, 8},
      {"last_group_reaches_pp", dense_job(),
       set([](Job&, Layout& l) { l.pp = 2, l.vpp = 2, l.microbatch_group_size = 3; }),   // 8 = 2*3 + 2
       set([](Job&, Layout& l) { l.microbatch_group_size = 7; }), 1, 2},
      {"deferred_embedding_wgrad_pp", dense_job(),
       set([](Job& j, Layout& l) { j.stack.deferred_embedding_wgrad = true, l.pp = 2; }),
       set([](Job&, Layout& l) { l.pp = 1; }), 1, 2},
      {"deferred_embedding_wgrad_fusion", dense_job(),
       set([](Job& j, Layout& l) { j.stack.deferred_embedding_wgrad = true, l.pp = 2; }),
       set([](Job& j, Layout&) { j.stack.grad_accumulation_fusion = false; }), 0, 1},
  };
}

std::vector<Edge> layout_string_edges() {
  const Job mtp = with_mtp(dense_job(), 1);
  const Change good = layout_text("Ettt|ttt|tt|mL", 4);
  return {
      {"layout_string_readable", mtp, good, layout_text("Ettt|ttt|tt|mLx", 4), 0, 1},
      {"pp_divides_layout_string", mtp, good, layout_text("Ettt|ttt|ttmL", 4), 4, 3},
      {"layout_string_sets_vpp", mtp, good, layout_text("Ettt|ttt|tt|mL", 2), 1, 2},
      {"layout_string_embedding", mtp, good, layout_text("tEtt|ttt|tt|mL", 4), 0, 1},
      {"layout_string_loss", mtp, good, layout_text("Ettt|ttt|tt|Lm", 4), 0, 1},
      {"layout_string_layers", mtp, good, layout_text("Ettt|ttt|ttt|mL", 4), 9, 8},
      {"layout_string_mtp", mtp, good, layout_text("Ettt|ttt|tt|mmL", 4), 2, 1},
      {"layout_string_mtp_together", with_mtp(dense_job(), 2), layout_text("Ettt|ttt|tt|mmL", 4),
       layout_text("Ettt|ttt|ttm|mL", 4), 2, 1},
      {"layout_string_mtp_after_layers", mtp, good, layout_text("Ettt|ttt|tmt|L", 4), 1, 0},
      {"layout_string_mtp_last_virtual_stage", mtp, layout_text("Ettt|ttt|tt|mL", 2, 2),
       layout_text("Etttt|ttttm||L", 2, 2), 0, 1},
  };
}

std::vector<Edge> hybrid_pattern_edges() {
  const Change good = hybrid_text("M-M*|M-M*", 2);
  return {
      {"hybrid_pattern_readable", hybrid_job(), good, hybrid_text("M-M*|M-Mt", 2), 0, 1},
      {"hybrid_pattern_attention", hybrid_job(), good, hybrid_text("M-M*|M-M+", 2), 1, 0},
      {"hybrid_pattern_mtp_alike", with_mtp(hybrid_job(), 2), hybrid_text("M-M*|M-M*/M*/M*", 2),
       hybrid_text("M-M*|M-M*/M*/MM", 2), 0, 1},
      {"hybrid_pattern_layers", hybrid_job(), good, hybrid_text("M-M*|M-M*M", 2), 9, 8},
      {"hybrid_pattern_kinds", hybrid_job(), good, hybrid_text("M-M*|MM-*", 2), 5, -1},
      {"hybrid_pattern_mtp", with_mtp(hybrid_job(), 2), hybrid_text("M-M*|M-M*/M*/M*", 2),
       hybrid_text("M-M*|M-M*/M*", 2), 1, 2},
      {"pp_divides_hybrid_pattern", hybrid_job(), good, hybrid_text("M-|M*M|-M*", 2), 2, 3},
      {"hybrid_pattern_sets_vpp", hybrid_job(), good, hybrid_text("M-|M*|M-|M*", 2), 1, 2},
  };
}

std::vector<Edge> moe_edges() {
  const Change hybridep = set([](Job&, Layout& l) { dispatcher(l, Dispatcher::hybridep, 8); });
  const auto stash = set([](Job& j, Layout& l) {
    dispatcher(l, Dispatcher::hybridep, 8);
    j.stack.paged_stash = true;
    j.stack.expert_rank_capacity_factor = 1.5;
  });
  return {
      {"ep_needs_experts", dense_job(), nothing, set([](Job&, Layout& l) { l.ep = 2; }), 2, 1},
      {"ep_divides_experts", moe_job(), set([](Job&, Layout& l) { l.ep = 16; }),
       set([](Job& j, Layout&) { moe_of(j).num_experts = 24; }), 16, 24},
      {"moe_bias_etp", moe_job(), set([](Job& j, Layout&) { moe_of(j).bias = true; }),
       set([](Job&, Layout& l) { l.etp = 2; }), 2, 1},
      {"router_groups", moe_job(), set([](Job& j, Layout&) { moe_of(j).router.n_group = 8; }),
       set([](Job& j, Layout&) { moe_of(j).router.n_group = 6; }), 6, 16},
      {"router_group_topk", moe_job(),
       set([](Job& j, Layout&) { moe_of(j).router.n_group = 4, moe_of(j).router.topk_group = 4; }),
       set([](Job& j, Layout&) { moe_of(j).router.topk_group = 5; }), 5, 4},
      {"padding_needs_capacity", moe_job(),
       set([](Job& j, Layout&) { j.training.pad_to_capacity = true, j.training.expert_capacity_factor = 1; }),
       set([](Job& j, Layout&) { j.training.expert_capacity_factor = 0; }), 0, 1},
      {"rank_capacity_dispatcher", moe_job(), stash,
       set([](Job&, Layout& l) { l.dispatcher = Dispatcher::alltoall; }), 0, 1},
      {"paged_stash_capacity", moe_job(), stash,
       set([](Job& j, Layout&) { j.stack.expert_rank_capacity_factor = 0; }), 0, 1},
      {"paged_stash_offload", moe_job(), both(stash, offload({OffloadModule::core_attn})),
       offload({OffloadModule::moe_act}), 1, 0},
      {"fused_experts_etp", moe_job(), set([](Job& j, Layout&) { j.stack.fused_grouped_mlp = true; }),
       set([](Job&, Layout& l) { l.etp = 2; }), 2, 1},
      {"fused_experts_offload", moe_job(),
       both(set([](Job& j, Layout&) { j.stack.fused_grouped_mlp = true; }), offload({OffloadModule::fused_group_mlp})),
       offload({OffloadModule::expert_fc1}), 1, 0},
      {"shared_overlap_dispatcher", moe_job(),
       set([](Job& j, Layout&) { j.stack.moe_shared_expert_overlap = true; }),
       set([](Job&, Layout& l) { l.dispatcher = Dispatcher::allgather; }), 1, 0},
      {"shared_overlap_latent", moe_job(), set([](Job& j, Layout&) { j.stack.moe_shared_expert_overlap = true; }),
       set([](Job& j, Layout&) { moe_of(j).latent_size = 32; }), 1, 0},
      {"shared_overlap_expert_overlap", moe_job(), expert_overlap,
       set([](Job& j, Layout&) { j.stack.moe_shared_expert_overlap = true; }), 1, 0},
      {"deepep_group", moe_job(), set([](Job&, Layout& l) { dispatcher(l, Dispatcher::deepep, 2); }),
       set([](Job&, Layout& l) { l.ep = 1; }), 1, 2},
      {"deepep_ranks", moe_job(), set([](Job& j, Layout& l) {
         dispatcher(l, Dispatcher::deepep, 4);
         moe_of(j).num_experts = 24;
         j.gpus = 48, j.training.global_batch_size = 48;
       }),
       set([](Job&, Layout& l) { l.ep = 12; }), 12, 16},
      {"deepep_padding", moe_job(), set([](Job& j, Layout& l) {
         dispatcher(l, Dispatcher::deepep, 8);
         j.training.expert_capacity_factor = 1;
       }),
       set([](Job& j, Layout&) { j.training.pad_to_capacity = true; }), 1, 0},
      {"deepep_gpu", moe_job(), set([](Job& j, Layout& l) {
         dispatcher(l, Dispatcher::deepep, 8);
         j.hardware.gpu.generation = GpuGeneration::blackwell;
       }),
       set([](Job& j, Layout&) { j.hardware.node.cpu = HostCpu::grace; }), 1, 0},
      {"hybridep_group", moe_job(), hybridep, set([](Job&, Layout& l) { l.ep = 1; }), 1, 2},
      {"hybridep_hidden", moe_job(), hybridep, set([](Job& j, Layout&) { j.model.text.hidden_size = 72; }), 16, 72},
      {"hybridep_domain", moe_job(), set([](Job& j, Layout& l) {
         dispatcher(l, Dispatcher::hybridep, 12);
         j.hardware.fabric.placed_per_domain = 6;
         moe_of(j).num_experts = 24;
         j.gpus = 48, j.training.global_batch_size = 48;
       }),
       set([](Job& j, Layout&) { j.hardware.fabric.placed_per_domain = 8; }), 8, 12},
      {"hybridep_domain_ranks", moe_job(), set([](Job& j, Layout& l) {
         dispatcher(l, Dispatcher::hybridep, 72);
         j.hardware.fabric.placed_per_domain = 72;
         moe_of(j).num_experts = 144;
         j.gpus = 144, j.training.global_batch_size = 144;
       }),
       set([](Job& j, Layout& l) { j.hardware.fabric.placed_per_domain = 144, l.ep = 144; }), 144, 72},
      {"hybridep_experts", moe_job(), set([](Job&, Layout& l) { dispatcher(l, Dispatcher::hybridep, 2); }),
       set([](Job& j, Layout&) { moe_of(j).num_experts = 2; }), 4, 2},
      // 3 * 21845 + 1 = 65536 does not fit in 16 bits
      {"hybridep_tokens", moe_job(), set([](Job& j, Layout& l) {
         dispatcher(l, Dispatcher::hybridep, 16);
         j.training.sequence_length = 21844;
       }),
       set([](Job& j, Layout&) { j.training.sequence_length = 21845; }), 65536, 65535},
  };
}

std::vector<Edge> expert_overlap_edges() {
  const Change delayed = both(both(expert_overlap, graphs(kTe, {GraphScope::attn})),
                              set([](Job&, Layout& l) { l.overlap.delay_wgrad = true; }));
  return {
      {"expert_overlap_ep", moe_job(), expert_overlap, set([](Job&, Layout& l) { l.ep = 1; }), 1, 2},
      {"expert_overlap_dispatcher", moe_job(), expert_overlap,
       set([](Job&, Layout& l) { l.dispatcher = Dispatcher::allgather; }), 1, 0},
      {"expert_overlap_precision", moe_job(), expert_overlap,
       set([](Job& j, Layout&) { j.training.precision = Precision::fp32; }), 1, 0},
      {"expert_overlap_vpp", moe_job(), both(expert_overlap, set([](Job&, Layout& l) { l.pp = l.vpp = 2; })),
       set([](Job&, Layout& l) { l.vpp = 1; }), 1, 2},
      {"expert_overlap_full_recompute", moe_job(), expert_overlap, full_recompute(1), 1, 0},
      {"expert_overlap_moe_recompute", moe_job(), both(expert_overlap, selective(RecomputeModule::moe_act)),
       selective(RecomputeModule::moe), 1, 0},
      {"expert_overlap_mtp", with_mtp(moe_job(), 1), expert_overlap,
       set([](Job& j, Layout&) { j.training.mtp_layers = 2; }), 2, 1},
      {"expert_overlap_graph_scope", mixed_job(), both(expert_overlap, graphs(kTe, {GraphScope::attn})),
       graphs(kTe, {GraphScope::attn, GraphScope::mlp}), 1, 0},
      {"delay_wgrad_overlap", moe_job(), both(expert_overlap, set([](Job&, Layout& l) { l.overlap.delay_wgrad = true; })),
       set([](Job&, Layout& l) { l.overlap.expert_alltoall = false; }), 0, 1},
      {"delay_wgrad_graph_fusion", moe_job(), delayed,
       set([](Job& j, Layout&) { j.stack.grad_accumulation_fusion = false; }), 0, 1},
      {"delay_wgrad_graph_bias", moe_job(), delayed,
       set([](Job& j, Layout&) { std::get<GqaSpec>(j.model.text.mixers[0].kind).qkv_bias = true; }), 1, 0},
  };
}

std::vector<Edge> recompute_edges() {
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
      {"recompute_attention", hybrid_job(), selective(RecomputeModule::core_attn),
       set([](Job& j, Layout&) { j.model.text.layers.assign(8, BlockRef{1, -1}); }), 0, 1},
      {"recompute_shared_overlap", moe_job(), selective(RecomputeModule::shared_experts),
       set([](Job& j, Layout&) { j.stack.moe_shared_expert_overlap = true; }), 1, 0},
      {"recompute_delayed_scaling", dense_job(), selective(RecomputeModule::layernorm),
       set([](Job& j, Layout&) { j.training.precision = Precision::fp8_delayed; }), 1, 0},
  };
}

std::vector<Edge> offload_edges() {
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

std::vector<Edge> graph_edges() {
  const Change capacity =
      set([](Job& j, Layout&) { j.training.expert_capacity_factor = 1, j.training.pad_to_capacity = true; });
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
      {"te_graphs_need_te", dense_job(), graphs(kTe),
       set([](Job& j, Layout&) { j.stack.transformer_engine = false; }), 0, 1},
      {"graph_moe_once", moe_job(), both(capacity, graphs(kTe, {GraphScope::moe})),
       graphs(kTe, {GraphScope::moe, GraphScope::moe_router}), 1, 0},
      {"graph_preprocess_router", moe_job(), router, graphs(kTe, {GraphScope::moe_preprocess}), 0, 1},
      {"graph_experts", moe_job(), router, set([](Job& j, Layout&) { j.model = dense_job().model; }), 0, 2},
      {"graph_dense_mlp", mixed_job(), graphs(kTe, {GraphScope::mlp}),
       set([](Job& j, Layout&) { j.model = moe_job().model; }), 0, 1},
      {"graph_mamba", hybrid_job(), graphs(kTe, {GraphScope::mamba}),
       set([](Job& j, Layout&) { j.model = dense_job().model; }), 0, 1},
      {"graph_moe_padded", moe_job(), both(capacity, graphs(kTe, {GraphScope::moe})),
       set([](Job& j, Layout&) { j.training.pad_to_capacity = false; }), 0, 1},
      {"graph_preprocess_sync", moe_job(), both(capacity, router),
       set([](Job& j, Layout&) { j.training.pad_to_capacity = false; }), 1, 0},
      {"full_recompute_graphs", dense_job(), both(full_recompute(1), graphs(CudaGraphImpl::full_iteration)), graphs(kTe),
       1, 0},
      {"moe_recompute_router_graph", moe_job(), both(selective(RecomputeModule::moe), graphs(kTe, {GraphScope::attn})),
       router, 1, 0},
      {"graph_attention_dropout", dense_job(), both(selective(RecomputeModule::core_attn), graphs(kTe)), dropout, 1, 0},
      {"graph_hidden_dropout", dense_job(), both(selective(RecomputeModule::mlp), graphs(kTe, {GraphScope::mlp})),
       dropout, 1, 0},
  };
}

std::vector<Edge> precision_edges() {
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
      {"precision_on_gpu", dense_job(),
       set([](Job& j, Layout&) { j.hardware.gpu.peak_tflops[Math::bf16].value = 312; }),
       set([](Job& j, Layout&) { j.training.precision = Precision::nvfp4; }), 0, 1},
  };
}

std::vector<Edge> optimizer_edges() {
  const Change muon = set([](Job& j, Layout& l) {
    j.training.optimizer.kind = OptimizerKind::muon;
    l.sharding = Sharding::layerwise;
  });
  const Change overlaps = set([](Job&, Layout& l) { l.overlap.param_gather = l.overlap.grad_reduce = true; });
  return {
      {"param_overlap_sharding", megatron_lm(dense_job()), overlaps,
       set([](Job&, Layout& l) { l.sharding = Sharding::none; }), 0, 1},
      {"param_overlap_grad_overlap", megatron_lm(dense_job()), overlaps,
       set([](Job&, Layout& l) { l.overlap.grad_reduce = false; }), 0, 1},
      {"instances_need_sharding", dense_job(), set([](Job&, Layout& l) { l.optimizer_instances = 2; }),
       set([](Job&, Layout& l) { l.sharding = Sharding::none; }), 2, 1},
      {"layerwise_instances", dense_job(), muon, set([](Job&, Layout& l) { l.optimizer_instances = 2; }), 2, 1},
      {"layerwise_needs_muon", dense_job(), muon,
       set([](Job& j, Layout&) { j.training.optimizer.kind = OptimizerKind::adam; }), 0, 1},
      {"precision_aware_adam", dense_job(), set([](Job& j, Layout&) { j.training.optimizer.precision_aware = true; }),
       set([](Job& j, Layout&) { j.training.optimizer.kind = OptimizerKind::sgd; }), 0, 1},
      {"state_types", dense_job(), set([](Job& j, Layout&) {
         j.training.optimizer.precision_aware = true;
         j.training.optimizer.exp_avg_dtype = j.training.optimizer.exp_avg_sq_dtype = DType::bf16;
       }),
       set([](Job& j, Layout&) { j.training.optimizer.precision_aware = false; }), 2, 0},
  };
}

std::vector<Edge> fsdp_edges() {
  const Change full = set([](Job&, Layout& l) { l.sharding = Sharding::full; });
  const Change fsdp2 = set([](Job& j, Layout& l) {
    l.sharding = Sharding::full_torch;
    j.stack.grad_accumulation_fusion = false;
  });
  const auto muon = set([](Job& j, Layout&) { j.training.optimizer.kind = OptimizerKind::muon; });
  return {
      {"fsdp_optimizer", megatron_lm(dense_job()), full, muon, 1, 0},
      {"fsdp_expert_overlap_pp", moe_job(), both(full, expert_overlap),
       set([](Job&, Layout& l) { l.pp = l.vpp = 2; }), 2, 1},
      {"fsdp_expert_overlap_buffer", moe_job(), both(full, expert_overlap),
       set([](Job&, Layout& l) { l.fsdp_double_buffer = true; }), 1, 0},
      {"fsdp_expert_overlap_graphs", moe_job(), both(full, expert_overlap), graphs(kTe, {GraphScope::attn}), 1, 0},
      {"double_buffer_needs_fsdp", dense_job(), both(full, set([](Job&, Layout& l) { l.fsdp_double_buffer = true; })),
       set([](Job&, Layout& l) { l.sharding = Sharding::optimizer; }), 0, 1},
      {"fsdp2_pp", megatron_lm(dense_job()), fsdp2, set([](Job&, Layout& l) { l.pp = 2; }), 2, 1},
      {"fsdp2_ep", megatron_lm(moe_job()), fsdp2, set([](Job&, Layout& l) { l.ep = 2; }), 2, 1},
      {"fsdp2_fusion", megatron_lm(dense_job()), fsdp2,
       set([](Job& j, Layout&) { j.stack.grad_accumulation_fusion = true; }), 1, 0},
      {"fsdp2_untied", megatron_lm(dense_job()), fsdp2,
       set([](Job& j, Layout&) { j.model.text.tie_word_embeddings = true; }), 1, 0},
      {"fsdp2_fp16", megatron_lm(dense_job()), fsdp2,
       set([](Job& j, Layout&) { j.training.precision = Precision::fp16; }), 1, 0},
      {"fsdp2_muon", megatron_lm(dense_job()), fsdp2, muon, 1, 0},
      {"torch_layerwise", torch_tools(dense_job()), full, set([](Job&, Layout& l) { l.sharding = Sharding::layerwise; }),
       1, 0},
  };
}

std::vector<Edge> vision_edges() {
  return {
      {"tp_divides_vision_heads", vision_job(), set([](Job&, Layout& l) { l.tp = 4, l.sequence_parallel = true; }),
       set([](Job&, Layout& l) { l.tp = 8; }), 8, 4},
      {"tp_divides_vision_ffn", vision_job(), set([](Job&, Layout& l) { l.tp = 4, l.sequence_parallel = true; }),
       set([](Job& j, Layout&) { j.model.vision->intermediate_size = 30; }), 4, 30},
      {"no_virtual_stages", vision_job(), set([](Job&, Layout& l) { l.pp = 2; }), set([](Job&, Layout& l) { l.vpp = 2; }),
       2, 1},
      {"vision_no_context_parallel", vision_job(), set([](Job&, Layout& l) { l.cp = 2; }),
       set([](Job& j, Layout&) { j.model.family = "gemma3"; }), 2, 1},
      {"deepstack_first_stage", vision_job(), set([](Job&, Layout& l) { l.pp = 4; }),
       set([](Job&, Layout& l) { l.pp = 8; }), 1, 2},
  };
}

std::vector<Edge> all_edges() {
  std::vector<Edge> all;
  for (auto* section : {grid_edges, tensor_edges, sequence_edges, pipeline_edges, layout_string_edges,
                        hybrid_pattern_edges, moe_edges, expert_overlap_edges, recompute_edges, offload_edges,
                        graph_edges, precision_edges, optimizer_edges, fsdp_edges, vision_edges})
    for (Edge& edge : section()) all.push_back(std::move(edge));
  return all;
}

std::string codes(const std::vector<Violation>& violations) {
  std::string text;
  for (const Violation& v : violations) text += std::string(rules()[std::size_t(v.rule)].code) + " ";
  return text;
}

RuleId id_of(std::string_view code) {
  for (std::size_t i = 0; i < rules().size(); ++i)
    if (rules()[i].code == code) return RuleId(i);
  return -1;
}

}  // namespace

TEST_CASE("every rule passes on one side of its edge and names both numbers on the other") {
  for (Edge& edge : all_edges()) {
    CAPTURE(edge.code);
    Layout layout = plain_layout();
    edge.good(edge.job, layout);
    CHECK(codes(all_violations(edge.job, layout)) == "");
    CHECK_FALSE(first_violation(edge.job, layout));
    edge.bad(edge.job, layout);
    const std::vector<Violation> violations = all_violations(edge.job, layout);
    const auto found = std::find_if(violations.begin(), violations.end(),
                                    [&](const Violation& v) { return v.rule == id_of(edge.code); });
    REQUIRE(found != violations.end());
    CHECK(found->got == edge.got);
    CHECK(found->need == edge.need);
  }
}

TEST_CASE("every rule has an edge test, a code of its own and words") {
  std::set<std::string_view> tested, seen;
  for (const Edge& edge : all_edges()) tested.insert(edge.code);
  for (const RuleInfo& rule : rules()) {
    CAPTURE(rule.code);
    CHECK(tested.count(rule.code) == 1);
    CHECK(seen.insert(rule.code).second);
    CHECK_FALSE(rule.condition.empty());
    CHECK_FALSE(rule.got.empty());
    CHECK_FALSE(rule.need.empty());
    CHECK((rule.asserted_by == RuleSource::shardfit || !rule.pointer.empty()));
  }
  CHECK(tested.size() == rules().size());
}

TEST_CASE("the first violation is the first of all violations, with and without facts taken before") {
  for (Edge& edge : all_edges()) {
    Layout layout = plain_layout();
    edge.good(edge.job, layout);
    edge.bad(edge.job, layout);
    const std::vector<Violation> all = all_violations(edge.job, layout);
    const JobFacts facts = job_facts(edge.job);
    const auto first = first_violation(edge.job, layout), again = first_violation(facts, layout);
    REQUIRE(first);
    REQUIRE(again);
    CHECK(first->rule == all.front().rule);
    CHECK(again->rule == all.front().rule);
  }
}

TEST_CASE("a rule asserted by one entry point binds that one only") {
  Layout layout = plain_layout();
  layout.overlap.param_gather = true;   // without overlap of gradient reduction
  CHECK_FALSE(first_violation(dense_job(), layout));
  CHECK(first_violation(megatron_lm(dense_job()), layout)->rule == id_of("param_overlap_grad_overlap"));

  layout = plain_layout();
  layout.cuda_graph.impl = CudaGraphImpl::local;
  CHECK(first_violation(dense_job(), layout)->rule == id_of("local_graphs_bridge"));
  CHECK_FALSE(first_violation(megatron_lm(dense_job()), layout));

  layout = plain_layout();
  layout.pp = 3;
  Job twelve_gpus = torch_tools(dense_job());
  twelve_gpus.gpus = 12;
  twelve_gpus.training.global_batch_size = 12;
  CHECK_FALSE(first_violation(twelve_gpus, layout));   // torch tools share 8 layers over 3 stages
}

TEST_CASE("a rule that a stack began to assert does not bind older software") {
  Job job = dense_job();
  Layout layout = plain_layout();
  layout.cuda_graph.impl = CudaGraphImpl::local;
  for (const char* date : {"2026-07-10", "2026-08", "", "unknown"}) {
    job.stack.date = date;
    CHECK(first_violation(job, layout));
  }
  for (const char* date : {"2026-07-09", "2025-10", "2025"}) {
    job.stack.date = date;
    CHECK_FALSE(first_violation(job, layout));
  }
}

TEST_CASE("the nearest values that cure a violation") {
  Layout layout = plain_layout();
  Job job = dense_job();
  job.gpus = 48;
  job.training.global_batch_size = 48;
  layout.tp = 3;
  const Violation heads = *first_violation(job, layout);
  CHECK(rules()[std::size_t(heads.rule)].code == "tp_divides_heads");
  CHECK(heads.got == 3);
  CHECK(heads.need == 8);
  Cure cure = nearest_cure(job, layout, heads);
  CHECK(cure.axis == "tp");
  CHECK(cure.values == std::vector{2, 4, 1});
  CHECK(nearest_cure(job, layout, heads, 1).values == std::vector{2});

  // 3 of 8 layers a stage: 2 and 4 stages divide the layers and the ranks.
  layout = plain_layout();
  layout.pp = 3;
  const Violation layers = *first_violation(job, layout);
  cure = nearest_cure(job, layout, layers);
  CHECK(cure.axis == "pp");
  CHECK(cure.values == std::vector{2, 4, 1});
}

TEST_CASE("a cure breaks nothing new where that can be helped, and clears its rule in any case") {
  for (Edge& edge : all_edges()) {
    CAPTURE(edge.code);
    Layout layout = plain_layout();
    edge.good(edge.job, layout);
    edge.bad(edge.job, layout);
    for (const Violation& violation : all_violations(edge.job, layout)) {
      const Cure cure = nearest_cure(edge.job, layout, violation);
      CHECK(cure.values.size() <= 3);
      CHECK(cure.axis.empty() == cure.values.empty());
      for (int value : cure.values) {
        Layout cured = layout;
        if (cure.axis == "tp") cured.tp = value;
        else if (cure.axis == "cp") cured.cp = value;
        else if (cure.axis == "pp") cured.pp = value;
        else if (cure.axis == "ep") cured.ep = value;
        else if (cure.axis == "etp") cured.etp = value;
        else if (cure.axis == "vpp") cured.vpp = value;
        else continue;
        for (const Violation& left : all_violations(edge.job, cured)) CHECK(left.rule != violation.rule);
      }
    }
  }
}

TEST_CASE("a rule about sequence parallelism is cured by turning it on") {
  Job job = moe_job();
  Layout layout = plain_layout();
  layout.tp = 2;
  const Cure cure = nearest_cure(job, layout, *first_violation(job, layout));
  CHECK(cure.axis == "sequence_parallel");
  CHECK(cure.values == std::vector{1});
}

TEST_CASE("what a stack alters without being asked is named, not refused") {
  const auto has = [](const Job& job, const Layout& layout, std::string_view code) {
    const std::vector<Alteration> all = alterations(job, layout);
    return std::any_of(all.begin(), all.end(), [&](const Alteration& a) { return a.code == code; });
  };
  Layout layout = plain_layout();
  CHECK(alterations(dense_job(), layout).empty());

  layout.sequence_parallel = true;   // tp is 1
  CHECK(has(dense_job(), layout, "sequence_parallel_off"));
  CHECK_FALSE(first_violation(dense_job(), layout));

  layout = plain_layout();
  layout.overlap.tp_comm = true;
  CHECK(has(dense_job(), layout, "tp_overlap_off"));
  CHECK_FALSE(has(megatron_lm(dense_job()), layout, "tp_overlap_off"));

  Job moe = moe_job();
  moe.stack.moe_shared_expert_overlap = true;
  layout = plain_layout();
  layout.ep = 8;
  layout.dispatcher = Dispatcher::hybridep;
  CHECK(has(moe, layout, "shared_overlap_off"));

  Job sft = moe_job();
  sft.training.task = Task::sft;
  CHECK(has(sft, layout, "rows_padded"));
  sft.training.packing = Packing::offline;
  CHECK_FALSE(has(sft, layout, "rows_padded"));

  Job longer = dense_job();
  longer.training.sequence_length = 256;   // the model knows 128 positions
  CHECK(has(longer, plain_layout(), "positions_beyond_model"));
  CHECK_FALSE(first_violation(longer, plain_layout()));

  layout = plain_layout();
  layout.recompute.granularity = RecomputeGranularity::full;
  layout.recompute.method = RecomputeMethod::block;
  CHECK(has(with_mtp(dense_job(), 1), layout, "mtp_block_recompute"));
  layout = plain_layout();
  layout.microbatch_group_size = 4;
  CHECK(has(dense_job(), layout, "group_size_unused"));
}

TEST_CASE("the kind of context-parallel traffic that a model's attention needs") {
  CHECK(assumed_cp_comm_type(dense_job().model) == CpCommType::p2p);
  CHECK(assumed_cp_comm_type(window_job().model) == CpCommType::a2a);
  Job job = dense_job();
  job.model.text.mixers[0].kind = CompressedMqaSpec{};
  CHECK(assumed_cp_comm_type(job.model) == CpCommType::all_gather);
}
