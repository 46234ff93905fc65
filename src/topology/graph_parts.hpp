// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "shardfit/base/names.hpp"
#include "shardfit/base/units.hpp"

namespace shardfit::topology {

/// What a vertex of the cluster graph stands for. `nvswitch`: one switch chip, a plane of its domain.
enum class VertexKind { gpu, nvswitch, cpu, nic, leaf, spine, core, count };

/// What an edge stands for. `nvlink`: all links of a GPU to one plane; `host`: GPU to host memory (C2C or PCIe); `pcie`:
/// GPU to its NIC; `rail`: NIC to leaf; `uplink`: leaf to spine; `core_uplink`: spine to core switch.
enum class LinkKind { nvlink, host, pcie, rail, uplink, core_uplink, count };

/// A vertex as a plain value. `index` counts vertices of its kind (for a GPU: its rank). -1 where a field has no
/// meaning.
struct Vertex {
  VertexKind kind = VertexKind::gpu;
  int index = 0;
  int domain = -1;  ///< NVLink domain
  int node = -1;    ///< OS node
  int rail = -1;    ///< position of the GPU in its node: which leaf its NIC plugs into
  int unit = -1;    ///< scalable unit: nodes whose NICs of one rail share a leaf
  int pod = -1;     ///< of a spine: the units that it joins
  int planes = 1;   ///< NVSwitch planes that the vertex stands for
};

/// An edge as a plain value; bandwidth and latency of one direction.
struct Edge {
  int from = 0, to = 0;  ///< positions in the vertex list
  LinkKind kind = LinkKind::nvlink;
  BytesPerSecond bandwidth;
  Seconds latency;
};

/// The whole graph, for export.
struct GraphParts {
  std::vector<Vertex> vertices;
  std::vector<Edge> edges;
};

/// The graph with one NVSwitch a domain that stands for all planes, links to them added up: what a reader can take in.
GraphParts with_planes_folded(const GraphParts& parts);

}  // namespace shardfit::topology

namespace shardfit {
template <>
inline constexpr NameList<topology::VertexKind> kNames<topology::VertexKind> = {"gpu",  "nvswitch", "cpu", "nic",
                                                                                "leaf", "spine",    "core"};
template <>
inline constexpr NameList<topology::LinkKind> kNames<topology::LinkKind> = {"nvlink", "host",   "pcie",
                                                                            "rail",   "uplink", "core uplink"};
}  // namespace shardfit
