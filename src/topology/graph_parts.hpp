// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "shardfit/base/names.hpp"
#include "shardfit/base/units.hpp"

namespace shardfit::topology {

/// What a vertex of the cluster graph stands for. One `nvswitch` vertex is all switch planes of a domain together:
/// every GPU has the same number of links to every plane, so that the planes never differ in load.
enum class VertexKind { gpu, nvswitch, cpu, nic, leaf, spine, count };

/// What an edge stands for. `host`: GPU to host memory (C2C or PCIe); `pcie`: GPU to its NIC; `rail`: NIC to leaf;
/// `uplink`: leaf to spine.
enum class LinkKind { nvlink, host, pcie, rail, uplink, count };

/// A vertex as a plain value. `index` counts vertices of its kind (for a GPU: its rank). -1 where a field has no
/// meaning.
struct Vertex {
  VertexKind kind = VertexKind::gpu;
  int index = 0;
  int domain = -1;    ///< NVLink domain
  int node = -1;      ///< OS node
  int rail = -1;      ///< position of the GPU in its node: which leaf its NIC plugs into
  int unit = -1;      ///< scalable unit: nodes whose NICs of one rail share a leaf
};

/// An edge as a plain value; bandwidth and latency of one direction.
struct Edge {
  int from = 0, to = 0;   ///< positions in the vertex list
  LinkKind kind = LinkKind::nvlink;
  BytesPerSecond bandwidth;
  Seconds latency;
};

/// The whole graph, for export.
struct GraphParts {
  std::vector<Vertex> vertices;
  std::vector<Edge> edges;
};

}  // namespace shardfit::topology

namespace shardfit {
template <>
inline constexpr std::array<std::string_view, kCount<topology::VertexKind>> kNames<topology::VertexKind> = {
    "gpu", "nvswitch", "cpu", "nic", "leaf", "spine"};
template <>
inline constexpr std::array<std::string_view, kCount<topology::LinkKind>> kNames<topology::LinkKind> = {
    "nvlink", "host", "pcie", "rail", "uplink"};
}  // namespace shardfit
