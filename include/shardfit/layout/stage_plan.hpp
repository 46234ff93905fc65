// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shardfit/spec/layout.hpp"
#include "shardfit/spec/scenario.hpp"

namespace shardfit {

/// A contiguous run of decoder layers on one pipeline rank, with what else lives there.
struct Chunk {
  int first_layer = 0, num_layers = 0;
  bool embedding = false, head = false, vision = false;
  int mtp_layers = 0;
  friend bool operator==(const Chunk&, const Chunk&) = default;
};

/// Which layers every pipeline rank holds. Chunk vp*pp + stage, as Megatron numbers them.
struct StagePlan {
  int pp = 1, vpp = 1;
  std::vector<Chunk> chunks;
  const Chunk& at(int stage, int virtual_stage) const { return chunks[std::size_t(virtual_stage * pp + stage)]; }
  int layers_on(int stage) const {
    int n = 0;
    for (int v = 0; v < vpp; ++v) n += at(stage, v).num_layers;
    return n;
  }
};

/// The plan of a layout; nothing if the layers cannot be split that way (a rule says why). Reuses `plan`'s memory.
/// Source: Megatron-LM core/transformer/transformer_block.py:get_num_layers_to_build,
/// core/transformer/pipeline_parallel_layer_layout.py, core/models/hybrid/hybrid_layer_allocation.py.
[[nodiscard]] bool make_stage_plan(const Job& job, const Layout& layout, StagePlan& plan);

/// "Et*2|(tt|)*2tL" -> {"Ett", "tt", "tt", "tL"}. Nothing if the text is malformed (`why` says how).
std::optional<std::vector<std::string>> expand_layout_string(const std::string& text, std::string* why = nullptr);

/// The vpp that a layout string or a hybrid pattern with bars sets by its number of parts; 0: the split sets none, or pp
/// does not divide its parts. Readers of files fill `Layout::vpp` with it where a run states no vpp.
int implied_vpp(const PipelineSplit& split, int pp);

/// A split that Megatron accepts for a run that must have had one but does not state it: an even one if it can be;
/// else embedding and loss accounted, else one of them; else every chunk full but the last ("Et*4|(t*4|)*14tmL"), as the
/// recipes of the models with odd layer counts do; else nearly even. Nothing if there are more chunks than layers.
/// For readers of files, not for sweeps (it builds text).
std::optional<PipelineSplit> assumed_split(const Job& job, int pp, int vpp);

}  // namespace shardfit
