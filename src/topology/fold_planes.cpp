// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <utility>

#include "topology/graph_parts.hpp"

namespace shardfit::topology {

GraphParts with_planes_folded(const GraphParts& parts) {
  GraphParts folded;
  std::map<int, int> of_domain;  // its one switch among the folded vertices
  std::vector<int> now_at;
  for (const Vertex& vertex : parts.vertices) {
    const auto known = vertex.kind == VertexKind::nvswitch ? of_domain.find(vertex.domain) : of_domain.end();
    if (known != of_domain.end()) {
      folded.vertices[std::size_t(known->second)].planes += vertex.planes;
      now_at.push_back(known->second);
      continue;
    }
    now_at.push_back(int(folded.vertices.size()));
    folded.vertices.push_back(vertex);
    if (vertex.kind != VertexKind::nvswitch) continue;
    folded.vertices.back().index = vertex.domain;
    of_domain[vertex.domain] = now_at.back();
  }
  std::map<std::pair<int, int>, std::size_t> nvlinks;
  for (Edge edge : parts.edges) {
    edge.from = now_at[std::size_t(edge.from)], edge.to = now_at[std::size_t(edge.to)];
    if (edge.kind == LinkKind::nvlink) {
      const auto [at, first] = nvlinks.try_emplace({edge.from, edge.to}, folded.edges.size());
      if (!first) {
        Edge& sum = folded.edges[at->second];
        sum.bandwidth = BytesPerSecond(sum.bandwidth.value + edge.bandwidth.value);
        continue;
      }
    }
    folded.edges.push_back(edge);
  }
  return folded;
}

}  // namespace shardfit::topology
