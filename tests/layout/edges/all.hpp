// SPDX-License-Identifier: Apache-2.0
// Every rule's edge, section by section as the rules are.
#pragma once

#include "layout/edges/experts.hpp"
#include "layout/edges/grid.hpp"
#include "layout/edges/memory.hpp"
#include "layout/edges/pipeline.hpp"
#include "layout/edges/training.hpp"

namespace shardfit::test {

inline std::vector<Edge> all_edges() {
  std::vector<Edge> all;
  for (auto* section : {grid_edges, tensor_edges, sequence_edges, pipeline_edges, layout_string_edges, hybrid_pattern_edges,
                        moe_edges, expert_overlap_edges, recompute_edges, offload_edges, graph_edges, precision_edges,
                        optimizer_edges, fsdp_edges, vision_edges})
    for (Edge& edge : section()) all.push_back(std::move(edge));
  return all;
}

}  // namespace shardfit::test
