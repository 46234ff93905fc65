// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "io/words.hpp"
#include "shardfit/spec/layout.hpp"

namespace shardfit::io {

// The inverse of report/layout_text.hpp: parts of a layout from one word. All throw InputError.

/// "none", "selective:moe_act+layernorm" or the modules alone, "full" (= full:uniform:1), "full:block:3".
Recompute recompute_of(const Where& at, const std::string& text);

/// "uniform", "first_last:3:2", "accounting:embedding+loss", "layout:Et*2|(tt|)*2tL", "pattern:M-M*|M-".
PipelineSplit split_of(const Where& at, const std::string& text);

/// "none", "local", "transformer_engine:attn+moe_router", "full_iteration".
CudaGraph cuda_graph_of(const Where& at, const std::string& text);

}  // namespace shardfit::io
