// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/base/names.hpp"

namespace shardfit {

/// The axes of a search, outermost first. Those that decide a block's shapes come first, then those that cut the model
/// over stages and shard its state, last those that only move work and tensors about: neighbours in the enumeration share
/// their tables, and a refused grid or split takes everything below it along.
enum class LayoutAxis {
  tp,
  cp,
  ep,
  etp,
  micro_batch_size,
  dispatcher,
  cp_comm_type,
  pp,
  vpp,
  split,
  sharding,
  optimizer_instances,
  optimizer_offload,
  recompute,
  cuda_graph,
  expert_overlap,
  count
};
template <>
inline constexpr NameList<LayoutAxis> kNames<LayoutAxis> = {
    "tp",
    "cp",
    "ep",
    "etp",
    "micro_batch_size",
    "dispatcher",
    "cp_comm_type",
    "pp",
    "vpp",
    "split",
    "sharding",
    "optimizer_instances",
    "optimizer_offload",
    "recompute",
    "cuda_graph",
    "expert_alltoall_overlap",
};

}  // namespace shardfit
