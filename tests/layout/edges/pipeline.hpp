// SPDX-License-Identifier: Apache-2.0
// Edges of the rules on pipelines, layout strings and hybrid patterns.
#pragma once

#include <vector>

#include "layout/edges/edge.hpp"

namespace shardfit::test {

inline std::vector<Edge> pipeline_edges() {
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
      {"vpp_needs_pp", dense_job(), set([](Job&, Layout& l) { l.vpp = l.pp = 2; }), set([](Job&, Layout& l) { l.pp = 1; }), 1,
       2},
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
      {"group_within_microbatches", dense_job(), set([](Job&, Layout& l) { l.pp = l.vpp = 2, l.microbatch_group_size = 8; }),
       set([](Job&, Layout& l) { l.microbatch_group_size = 9; }), 9, 8},
      {"last_group_reaches_pp", dense_job(),
       set([](Job&, Layout& l) { l.pp = 2, l.vpp = 2, l.microbatch_group_size = 3; }),  // 8 = 2*3 + 2
       set([](Job&, Layout& l) { l.microbatch_group_size = 7; }), 1, 2},
      {"deferred_embedding_wgrad_pp", dense_job(),
       set([](Job& j, Layout& l) { j.stack.deferred_embedding_wgrad = true, l.pp = 2; }),
       set([](Job&, Layout& l) { l.pp = 1; }), 1, 2},
      {"deferred_embedding_wgrad_fusion", dense_job(),
       set([](Job& j, Layout& l) { j.stack.deferred_embedding_wgrad = true, l.pp = 2; }),
       set([](Job& j, Layout&) { j.stack.grad_accumulation_fusion = false; }), 0, 1},
  };
}

inline std::vector<Edge> layout_string_edges() {
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
      {"layout_string_mtp_last_virtual_stage", mtp, layout_text("Ettt|ttt|tt|mL", 2, 2), layout_text("Etttt|ttttm||L", 2, 2), 0,
       1},
  };
}

inline std::vector<Edge> hybrid_pattern_edges() {
  const Change good = hybrid_text("M-M*|M-M*", 2);
  return {
      {"hybrid_pattern_readable", hybrid_job(), good, hybrid_text("M-M*|M-Mt", 2), 0, 1},
      {"hybrid_pattern_attention", hybrid_job(), good, hybrid_text("M-M*|M-M+", 2), 1, 0},
      {"hybrid_pattern_mtp_alike", with_mtp(hybrid_job(), 2), hybrid_text("M-M*|M-M*/M*/M*", 2),
       hybrid_text("M-M*|M-M*/M*/MM", 2), 0, 1},
      {"hybrid_pattern_layers", hybrid_job(), good, hybrid_text("M-M*|M-M*M", 2), 9, 8},
      {"hybrid_pattern_kinds", hybrid_job(), good, hybrid_text("M-M*|MM-*", 2), 5, -1},
      {"hybrid_pattern_mtp", with_mtp(hybrid_job(), 2), hybrid_text("M-M*|M-M*/M*/M*", 2), hybrid_text("M-M*|M-M*/M*", 2), 1,
       2},
      {"pp_divides_hybrid_pattern", hybrid_job(), good, hybrid_text("M-|M*M|-M*", 2), 2, 3},
      {"hybrid_pattern_sets_vpp", hybrid_job(), good, hybrid_text("M-|M*|M-|M*", 2), 1, 2},
  };
}

}  // namespace shardfit::test
