// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "compute/device.hpp"
#include "shardfit/estimate/estimator.hpp"
#include "shardfit/spec/model_dims.hpp"
#include "topology/cluster.hpp"
#include "workload/vision_batch.hpp"

namespace shardfit::estimate {

/// A kind of layer: its block, and whether the run keeps it in bf16 (first_last_layers_bf16).
struct LayerKind {
  BlockRef block;
  bool bf16 = false;
  friend bool operator==(const LayerKind&, const LayerKind&) = default;
};

/// The decoder as a sequence of a few kinds of layer.
struct LayerKinds {
  LayerKinds(const TextSpec& text, const TrainingSpec& training);
  std::vector<LayerKind> kinds;
  std::vector<int> kind_of_layer;
  /// Layers of a kind among layers [first, first + n).
  int count(int kind, int first, int n) const {
    const auto& sums = prefix_[std::size_t(kind)];
    return sums[std::size_t(first + n)] - sums[std::size_t(first)];
  }
  int size() const { return int(kinds.size()); }

 private:
  std::vector<std::vector<int>> prefix_;  ///< [kind][layer]: how many before it
};

/// Everything about a job that no layout changes: read only, shared by threads.
struct Problem {
  explicit Problem(Job j);
  Job job;
  LayerKinds layers;
  compute::Device device;
  topology::Cluster cluster;
  double expert_load = 1;  ///< rows on the busiest rank over the mean
  bool vision = false;
  workload::SampleLoad sample;  ///< all zero without a tower
  int mtp_depth = 0;
  bool has_moe = false;
};

}  // namespace shardfit::estimate

struct shardfit::Estimator::Problem : shardfit::estimate::Problem {
  using shardfit::estimate::Problem::Problem;
};
