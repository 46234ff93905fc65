// SPDX-License-Identifier: Apache-2.0
// Edges of the rules on rank grids, tensors and sequences.
#pragma once

#include <vector>

#include "layout/edges/edge.hpp"

namespace shardfit::test {

inline std::vector<Edge> grid_edges() {
  return {
      {"axes_positive", dense_job(), nothing, set([](Job&, Layout& l) { l.vpp = 0; }), 0, 1},
      {"dense_grid", dense_job(), set([](Job&, Layout& l) { l.tp = l.cp = l.pp = 2; }), set([](Job&, Layout& l) { l.pp = 8; }),
       32, 16},
      {"expert_grid", moe_job(), set([](Job&, Layout& l) { l.ep = 8, l.pp = 2; }), set([](Job&, Layout& l) { l.etp = 2; }), 32,
       16},
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

inline std::vector<Edge> tensor_edges() {
  return {
      {"tp_divides_heads", dense_job(), set([](Job&, Layout& l) { l.tp = 8; }), set([](Job&, Layout& l) { l.tp = 16; }), 16, 8},
      {"tp_suits_kv_heads", dense_job(), set([](Job&, Layout& l) { l.tp = 8; }),
       set([](Job& j, Layout&) { std::get<GqaSpec>(j.model.text.mixers[0].kind).num_key_value_heads = 3; }), 8, 3},
      {"gdn_key_heads", gdn_job(), set([](Job&, Layout& l) { l.tp = l.cp = 2; }), set([](Job&, Layout& l) { l.cp = 4; }), 8, 4},
      {"gdn_value_heads", gdn_job(), set([](Job&, Layout& l) { l.tp = l.cp = 2; }), set([](Job&, Layout& l) { l.tp = 8; }), 16,
       8},
      {"gdn_heads_per_group", gdn_job(), nothing,
       set([](Job& j, Layout&) { std::get<GatedDeltaNetSpec>(j.model.text.mixers[1].kind).num_key_heads = 3; }), 3, 8},
      {"mamba_heads", hybrid_job(), set([](Job&, Layout& l) { l.tp = 4, l.cp = 2; }), set([](Job&, Layout& l) { l.cp = 4; }),
       16, 8},
      {"mamba_groups", hybrid_job(), set([](Job&, Layout& l) { l.tp = 4; }), set([](Job&, Layout& l) { l.tp = 8; }), 8, 4},
      {"mamba_groups_cp", hybrid_job(), set([](Job&, Layout& l) { l.cp = 4; }),
       set([](Job& j, Layout&) { std::get<Mamba2Spec>(j.model.text.mixers[1].kind).n_groups = 6; }), 4, 6},
      {"mamba_heads_per_group", hybrid_job(), nothing,
       set([](Job& j, Layout&) { std::get<Mamba2Spec>(j.model.text.mixers[1].kind).n_groups = 3; }), 3, 8},
      // 2*8*16 + 2*4*16 + 8 = 392 is no multiple of 16
      {"mamba_fp8_width", hybrid_job(), nothing, set([](Job& j, Layout&) { j.training.precision = Precision::fp8_tensorwise; }),
       16, 392},
      {"tp_divides_ffn", dense_job(), set([](Job&, Layout& l) { l.tp = 8; }),
       set([](Job& j, Layout&) { std::get<DenseMlpSpec>(j.model.text.mlps[0].kind).intermediate_size = 100; }), 8, 100},
      {"tp_divides_shared_expert", moe_job(), set([](Job&, Layout& l) { l.tp = 4, l.sequence_parallel = true; }),
       set([](Job& j, Layout&) { moe_of(j).shared_expert->intermediate_size = 50; }), 4, 50},
      {"etp_divides_expert", moe_job(), set([](Job&, Layout& l) { l.etp = 8; }), set([](Job&, Layout& l) { l.etp = 16; }), 16,
       24},
      {"tp_divides_vocabulary", dense_job(), set([](Job& j, Layout& l) { l.tp = 8, j.training.vocab_padding_multiple = 1; }),
       set([](Job& j, Layout&) { j.model.text.vocab_size = 1001; }), 8, 1001},
      {"moe_tp_needs_sequence_parallel", moe_job(), set([](Job&, Layout& l) { l.tp = 2, l.sequence_parallel = true; }),
       set([](Job&, Layout& l) { l.sequence_parallel = false; }), 2, 1},
      {"tp_overlap_needs_sequence_parallel", megatron_lm(dense_job()),
       set([](Job&, Layout& l) { l.tp = 2, l.sequence_parallel = l.overlap.tp_comm = true; }),
       set([](Job&, Layout& l) { l.sequence_parallel = false; }), 0, 1},
  };
}

inline std::vector<Edge> sequence_edges() {
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
         mqa.num_attention_heads = mqa.head_dim = mqa.q_lora_rank = mqa.o_lora_rank = 8;
         mqa.qk_rope_head_dim = 4, mqa.o_groups = 2;
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

}  // namespace shardfit::test
