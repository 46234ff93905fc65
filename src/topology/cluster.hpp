// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "shardfit/spec/hardware.hpp"
#include "topology/graph_parts.hpp"
#include "topology/group_links.hpp"
#include "topology/route.hpp"

namespace shardfit::topology {

/// Ranks that form groups: `size` members, `stride` apart, in blocks of size*stride consecutive ranks. With a `run`, runs of
/// that many members follow one another `jump` apart. A block that the cluster's end cuts off counts as far as its groups
/// are whole (first and last pipeline stage: one block).
struct RankPattern {
  int size = 1, stride = 1, run = 0, jump = 0;
};

/// Ranks against ranks, as `nvidia-smi topo -m` prints GPUs: how each pair is joined.
struct LinkMatrix {
  std::vector<int> ranks;                     ///< the first node's, then one rank of each farther kind
  std::vector<std::vector<PairClass>> pairs;  ///< [row][column] of `ranks`
};

/// The cluster as a graph: GPUs, NVSwitch planes, NICs, leaf, spine and core switches, host links; built from `hardware` for
/// `gpus` ranks, which fill nodes and domains in order (`placed_per_domain` GPUs of each domain).
class Cluster {
 public:
  /// Throws InputError for sizes that make no cluster.
  Cluster(const HardwareSpec& hardware, int gpus);
  ~Cluster();
  Cluster(Cluster&&) noexcept;
  Cluster& operator=(Cluster&&) noexcept;

  /// What the groups of a pattern see: the worst group, all of the kind at once. At least one group must be whole.
  GroupLinks links(RankPattern pattern) const;

  int gpus() const;
  int domain_of(int rank) const;
  int node_of(int rank) const;

  /// The quickest way between two ranks.
  const Route& route(int from, int to) const&;
  const Route& route(int from, int to) const&& = delete;  // it would outlive its cluster
  PairClass pair_class(int from, int to) const;

  /// Copies for export; not for the per-layout path.
  GraphParts parts() const;
  LinkMatrix link_matrix() const;

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

}  // namespace shardfit::topology
