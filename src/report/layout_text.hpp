// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "shardfit/spec/layout.hpp"

namespace shardfit::report {

// The parts of a layout as one word each. The same words are read back by files and flags (io/layout_words.hpp).

/// "none", "selective:moe_act+layernorm", "full:uniform:1".
std::string recompute_text(const Recompute& recompute);

/// "uniform", "first_last:3:2", "accounting:embedding+loss", "layout:Et*2|(tt|)*2tL", "pattern:M-M*|M-".
std::string split_text(const PipelineSplit& split);

/// "none", "transformer_engine:attn+moe_router", "full_iteration".
std::string cuda_graph_text(const CudaGraph& graph);

/// "grad_reduce+param_gather"; "none".
std::string overlap_text(const Overlap& overlap);

/// "none", "optimizer:0.5", "activations:moe_act/core_attn", "layers:4", joined by '+'.
std::string offload_text(const Offload& offload);

}  // namespace shardfit::report
