// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "shardfit/search/sweep.hpp"

namespace shardfit::search {

/// Axes of a space, most significant digit first. Axes that decide a layer's shapes come first, those that only move
/// layers and state about come last, so that neighbours in the enumeration share their tables.
enum class Axis {
  tp, cp, ep, etp, micro_batch_size, dispatcher, cp_comm_type, recompute, cuda_graph, expert_overlap, optimizer_offload,
  pp, vpp, split, sharding, optimizer_instances, count
};
inline constexpr std::size_t kAxes = kCount<Axis>;

using Digits = EnumArray<Axis, std::uint32_t>;

/// Number of values of each axis.
Digits radices(const SearchSpace& space);

/// Sets the fields that axis `axis` decides.
void apply_digit(const Scenario& scenario, Axis axis, std::uint32_t digit, Layout& layout);

/// Digits of an index, and the layout they spell.
Digits digits_of(const Digits& radix, std::uint64_t index);

}  // namespace shardfit::search
