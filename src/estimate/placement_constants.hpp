// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "estimate/data_parallel_time.hpp"
#include "memory/outside.hpp"
#include "memory/stage_memory.hpp"
#include "shardfit/spec/layout.hpp"

namespace shardfit::estimate {

/// Live micro-batches of a stage at each of its moments of highest load. Recompute and graphs only choose the moment.
struct LiveCounts {
  const std::vector<std::vector<int>>* chunks = nullptr;  ///< [moment][chunk]; none: not made
  std::vector<std::int64_t> layers;                       ///< [moment][kind]: layers of a kind times live micro-batches
  std::size_t dearest = 0;                                ///< the moment that costs the most under the recompute last looked at
};

/// What a stage holds under one recompute: all of its memory that graphs do not change.
struct StageHoldings {
  std::optional<std::uint64_t> kept;  ///< Parts::kept; none: not made
  std::size_t moment = 0;             ///< of the live counts: the dearest
  std::optional<memory::StageEvents> events;
  memory::MomentBytes allocated{};            ///< without graphs
  MemoryMoment most = MemoryMoment::forward;  ///< the first moment of the most of these
};

/// What of a stage neither recompute nor graphs change.
struct StageConstants {
  memory::StageInputs inputs;  ///< layers, profiles, graphs and live micro-batches are set for each layout
  memory::StageBase base;
  std::vector<int> order;      ///< kinds as they come first in the stage's chunks
  std::vector<int> unwinding;  ///< layers of each kind in the chunk that runs backward at the dearest moment
  LiveCounts live[2];          ///< without and with expert overlap
  StageHoldings holdings[2];   ///< likewise
  int first_chunk = 0;         ///< the chunk that embeds
  bool embedding = false, vision = false, head = false;
};

/// The constants of the layout at hand, kept while what they come from stays as it is: the parts' tables, pp, vpp, split,
/// micro-batch group, sharding, optimizer instances, offload of the optimizer and of layers, double buffer, overlap of
/// tensor-parallel traffic and of gradient reduction, rank order; without a pipeline also expert overlap, which then decides
/// how many micro-batches' plans of expert dispatch are kept.
struct PlacementConstants {
  struct Stage {
    bool made = false, step_made = false;
    std::optional<memory::ParamCounts> params;  ///< stage_params
    StageConstants memory;
    StepConstants step;
  };
  std::deque<Stage> stages;  ///< at least pp; they stay where they are
  std::optional<memory::OutsideInputs> outside;
  std::optional<double> transfer;      ///< boundary_transfer
  std::optional<double> image_wait;    ///< of the average load's spread
  std::optional<Bytes> floor;          ///< state_floor
  std::optional<Bytes> kept_floor[2];  ///< kept_floor, without and with expert overlap

  /// Empties the constants if they are not those of `layout`; true if it did.
  bool begin(const Layout& layout, int builds);
  void clear();

 private:
  bool is_of(const Layout& layout, int builds) const;
  Layout layout_;
  int builds_ = 0;  ///< 0: of no layout
};

}  // namespace shardfit::estimate
