// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "memory/outside.hpp"
#include "memory/stage_memory.hpp"
#include "shardfit/spec/layout.hpp"

namespace shardfit::estimate {

/// Live micro-batches of a stage at each of its moments of highest load. Recompute and graphs only choose the moment.
struct LiveCounts {
  const std::vector<std::vector<int>>* chunks = nullptr;   ///< [moment][chunk]; none: not made
  std::vector<std::int64_t> layers;        ///< [moment][kind]: layers of a kind times live micro-batches
};

/// What of a stage neither recompute nor graphs change.
struct StageConstants {
  memory::StageInputs inputs;              ///< layers, profiles, graphs and live micro-batches are set for each layout
  memory::StageBase base;
  std::vector<int> order;                  ///< kinds as they come first in the stage's chunks
  std::vector<int> unwinding;              ///< layers of each kind in the chunk that runs backward at the dearest moment
  LiveCounts live[2];                      ///< without and with expert overlap
  int first_chunk = 0;                     ///< the chunk that embeds
  bool embedding = false, vision = false, head = false;
};

/// Of a stage's step: data-parallel traffic and optimizer, s.
struct StepConstants {
  double reductions = 0, gathers = 0, exposed = 0, optimizer = 0;
};

/// The constants of the layout at hand, kept while what they come from stays as it is: the parts' tables, pp, vpp, split,
/// sharding, instances, offload of the optimizer, double buffer, tensor-parallel overlap, overlap of gradient reduction, rank order.
struct PlacementConstants {
  struct Stage {
    bool made = false, step_made = false;
    StageConstants memory;
    StepConstants step;
  };
  std::vector<Stage> stages;
  std::optional<memory::OutsideInputs> outside;
  std::optional<double> transfer;          ///< boundary_transfer
  std::optional<Bytes> floor;              ///< state_floor

  /// Empties the constants if they are not those of `layout`; true if it did.
  bool begin(const Layout& layout, int builds);
  void clear();

 private:
  bool is_of(const Layout& layout, int builds) const;
  Layout layout_;
  int builds_ = 0;                         ///< 0: of no layout
};

}  // namespace shardfit::estimate
