// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>
#include <ostream>
#include <tuple>

#include "report/topo_view.hpp"

namespace shardfit {
namespace {

using topology::Edge;
using topology::Vertex;

std::string vertex_name(const Vertex& vertex) { return fmt::format("{}{}", name_of(vertex.kind), vertex.index); }

const char* shape_of(topology::VertexKind kind) {
  switch (kind) {
    case topology::VertexKind::gpu: return "box";
    case topology::VertexKind::nvswitch: return "hexagon";
    case topology::VertexKind::cpu: return "component";
    case topology::VertexKind::nic: return "oval";
    default: return "trapezium";
  }
}

void write_vertex(const Vertex& vertex, const char* indent, std::ostream& out) {
  out << indent << vertex_name(vertex) << " [shape=" << shape_of(vertex.kind);
  if (vertex.planes > 1) out << fmt::format(", label=\"{}, {} planes\"", vertex_name(vertex), vertex.planes);
  out << "];\n";
}

}  // namespace

void write_dot(const topology::GraphParts& parts, const std::string& name, std::ostream& out) {
  out << "graph \"" << name << "\" {\n  layout=dot;\n  rankdir=BT;\n";
  // One box a node; switches stand outside.
  std::map<int, std::vector<const Vertex*>> by_node;
  for (const Vertex& vertex : parts.vertices) by_node[vertex.node].push_back(&vertex);
  for (const auto& [node, vertices] : by_node) {
    if (node >= 0) out << fmt::format("  subgraph cluster_node{} {{\n    label=\"node {}\";\n", node, node);
    for (const Vertex* vertex : vertices) write_vertex(*vertex, node >= 0 ? "    " : "  ", out);
    if (node >= 0) out << "  }\n";
  }
  // The graph may hold both directions of a link: one line for both.
  std::map<std::tuple<int, int, topology::LinkKind>, const Edge*> lines;
  for (const Edge& edge : parts.edges)
    lines.try_emplace({std::min(edge.from, edge.to), std::max(edge.from, edge.to), edge.kind}, &edge);
  for (const auto& [ends, edge] : lines)
    out << fmt::format("  {} -- {} [label=\"{} {:g} GB/s\"];\n", vertex_name(parts.vertices[std::size_t(std::get<0>(ends))]),
                       vertex_name(parts.vertices[std::size_t(std::get<1>(ends))]), name_of(edge->kind),
                       edge->bandwidth.value / kGB);
  out << "}\n";
}

}  // namespace shardfit
