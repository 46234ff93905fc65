// SPDX-License-Identifier: Apache-2.0
// Edges of the rules on experts, their dispatchers and the overlap of their traffic.
#pragma once

#include <vector>

#include "layout/edges/edge.hpp"

namespace shardfit::test {

inline std::vector<Edge> moe_edges() {
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
      {"moe_bias_etp", moe_job(), set([](Job& j, Layout&) { moe_of(j).bias = true; }), set([](Job&, Layout& l) { l.etp = 2; }),
       2, 1},
      {"router_groups", moe_job(), set([](Job& j, Layout&) { moe_of(j).router.n_group = 8; }),
       set([](Job& j, Layout&) { moe_of(j).router.n_group = 6; }), 6, 16},
      {"router_group_topk", moe_job(),
       set([](Job& j, Layout&) { moe_of(j).router.n_group = 4, moe_of(j).router.topk_group = 4; }),
       set([](Job& j, Layout&) { moe_of(j).router.topk_group = 5; }), 5, 4},
      {"padding_needs_capacity", moe_job(),
       set([](Job& j, Layout&) { j.training.pad_to_capacity = true, j.training.expert_capacity_factor = 1; }),
       set([](Job& j, Layout&) { j.training.expert_capacity_factor = 0; }), 0, 1},
      {"rank_capacity_dispatcher", moe_job(), stash, set([](Job&, Layout& l) { l.dispatcher = Dispatcher::alltoall; }), 0, 1},
      {"paged_stash_capacity", moe_job(), stash, set([](Job& j, Layout&) { j.stack.expert_rank_capacity_factor = 0; }), 0, 1},
      {"paged_stash_offload", moe_job(), both(stash, offload({OffloadModule::core_attn})), offload({OffloadModule::moe_act}), 1,
       0},
      {"fused_experts_etp", moe_job(), set([](Job& j, Layout&) { j.stack.fused_grouped_mlp = true; }),
       set([](Job&, Layout& l) { l.etp = 2; }), 2, 1},
      {"fused_experts_offload", moe_job(),
       both(set([](Job& j, Layout&) { j.stack.fused_grouped_mlp = true; }), offload({OffloadModule::fused_group_mlp})),
       offload({OffloadModule::expert_fc1}), 1, 0},
      {"shared_overlap_dispatcher", moe_job(), set([](Job& j, Layout&) { j.stack.moe_shared_expert_overlap = true; }),
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

inline std::vector<Edge> expert_overlap_edges() {
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
      {"expert_overlap_mtp", with_mtp(moe_job(), 1), expert_overlap, set([](Job& j, Layout&) { j.training.mtp_layers = 2; }), 2,
       1},
      {"expert_overlap_graph_scope", mixed_job(), both(expert_overlap, graphs(kTe, {GraphScope::attn})),
       graphs(kTe, {GraphScope::attn, GraphScope::mlp}), 1, 0},
      {"delay_wgrad_overlap", moe_job(), both(expert_overlap, set([](Job&, Layout& l) { l.overlap.delay_wgrad = true; })),
       set([](Job&, Layout& l) { l.overlap.expert_alltoall = false; }), 0, 1},
      {"delay_wgrad_graph_fusion", moe_job(), delayed, set([](Job& j, Layout&) { j.stack.grad_accumulation_fusion = false; }),
       0, 1},
      {"delay_wgrad_graph_bias", moe_job(), delayed,
       set([](Job& j, Layout&) { std::get<GqaSpec>(j.model.text.mixers[0].kind).qkv_bias = true; }), 1, 0},
  };
}

}  // namespace shardfit::test
