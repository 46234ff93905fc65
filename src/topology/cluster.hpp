// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "shardfit/spec/hardware.hpp"
#include "topology/group_links.hpp"

namespace shardfit::topology {

/// Ranks that form groups: `size` members, `stride` apart, in blocks of size*stride consecutive ranks.
struct RankPattern { int size = 1, stride = 1; };

/// The cluster as a graph: GPUs, NVSwitch domains, NICs, leaf and spine switches, host links; built from `hardware` for
/// `gpus` ranks, which fill nodes and domains in order (`placed_per_domain` GPUs of each domain).
class Cluster {
 public:
  Cluster(const HardwareSpec& hardware, int gpus);
  ~Cluster();
  Cluster(Cluster&&) noexcept;
  Cluster& operator=(Cluster&&) noexcept;

  /// What the groups of a pattern see: the worst group, all of the kind at once.
  GroupLinks links(RankPattern pattern) const;

  int gpus() const;
  int domain_of(int rank) const;
  int node_of(int rank) const;

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

}  // namespace shardfit::topology
