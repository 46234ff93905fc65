// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "io/read_training.hpp"
#include "shardfit/spec/layout.hpp"

namespace shardfit::io {

/// What the layout reader needs to know of the run around it.
struct LayoutContext {
  const ModelSpec& model;
  const Stack& stack;
  int gpus = 1;
  std::set<std::string> searched;  ///< axes of the search block: they may not stand in the layout too
};

/// A run's `layout` block; fields left out follow the stack. `assumed` wins over it.
Assumed<Layout> read_layout(const Value& value, Object* assumed, const LayoutContext& context);

/// Sequence parallelism of the same block where tp is above 1, whatever its own tp.
bool sequence_parallel_above_tp_1(const Value& value, Object* assumed, const LayoutContext& context);

/// Single choices, shared by the layout and the search block. Text forms are the search block's short ones:
/// "none", "full", "moe_act+layernorm"; "none", "full_iteration"; "uniform".
Recompute read_recompute(const Value& value);
CudaGraph read_cuda_graph(const Value& value, const ModelSpec& model);
PipelineSplit read_split(const Value& value);
Dispatcher read_dispatcher(const Value& value);
/// `full` means Megatron-FSDP under Megatron, FSDP2 elsewhere.
Sharding read_sharding(const Value& value, Framework framework);

}  // namespace shardfit::io
