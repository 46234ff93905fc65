// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/ledger/terms.hpp"

namespace shardfit::report {

/// Headings of a memory bill: why a byte is there.
enum class MemoryGroup { state, saved, at_the_moment, graphs, outside_torch, count };

constexpr MemoryGroup group_of(MemoryTerm term) {
  if (term < MemoryTerm::saved_attention) return MemoryGroup::state;
  if (term < MemoryTerm::logits) return MemoryGroup::saved;
  if (term < MemoryTerm::graph_pool) return MemoryGroup::at_the_moment;
  if (term < MemoryTerm::allocator_reserve) return MemoryGroup::graphs;
  return MemoryGroup::outside_torch;
}

}  // namespace shardfit::report

namespace shardfit {
template <>
inline constexpr NameList<report::MemoryGroup> kNames<report::MemoryGroup> = {"state", "saved_activations", "at_the_moment",
                                                                              "graphs", "outside_torch"};
}  // namespace shardfit
