// SPDX-License-Identifier: Apache-2.0
#include "report/topo_view.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "report/figures_section.hpp"
#include "report/topo_sections.hpp"
#include "shardfit/estimate/estimator.hpp"

namespace shardfit {
namespace {

using topology::Cluster;
using topology::GraphParts;

constexpr int kMembersShown = 6;  // of a group, before "..."

Cell gb_per_s_cell(BytesPerSecond rate) { return rate.value > 0 ? Cell(rate.value / kGB) : Cell(); }

Column rate_column(const char* key, const char* title) { return {key, title, ColumnKind::number, 1}; }

/// "4, NVLinks of a GPU to each: 5 4 4 5"; links that are alike are told once.
Cell planes_text(const NvswitchPlanes& planes) {
  if (planes.links.empty()) return text_cell("not known: one switch stands for all");
  std::string text = fmt::format("{}", planes.links.size());
  if (planes.failed > 0) text += fmt::format(" less {} failed", planes.failed);
  const bool alike = std::count(planes.links.begin(), planes.links.end(), planes.links[0]) ==
                     std::ptrdiff_t(planes.links.size());
  if (alike)
    return text_cell(fmt::format("{}, {} NVLink{} of a GPU to each", text, planes.links[0], planes.links[0] == 1 ? "" : "s"));
  return text_cell(fmt::format("{}, NVLinks of a GPU to each: {}", text, fmt::join(planes.links, " ")));
}

Section sizes_section(const HardwareSpec& hardware, const Cluster& cluster, const GraphParts& parts) {
  const int last = cluster.gpus() - 1;
  Facts facts{{{"hardware", "hardware"}, text_cell(hardware.name), {}},
              {{"gpus", "GPUs", ColumnKind::count}, count_cell(cluster.gpus()), {}},
              {{"nodes", "nodes", ColumnKind::count}, count_cell(cluster.node_of(last) + 1), {}},
              {{"nvlink_domains", "NVLink domains", ColumnKind::count}, count_cell(cluster.domain_of(last) + 1), {}}};
  EnumArray<topology::VertexKind, std::int64_t> counts{};
  for (const topology::Vertex& vertex : parts.vertices) ++counts[vertex.kind];
  const auto add = [&](const char* key, const char* title, topology::VertexKind kind) {
    facts.push_back({{key, title, ColumnKind::count}, count_cell(counts[kind]), {}});
  };
  facts.push_back({{"nvswitch_planes", "NVSwitch planes a domain"}, planes_text(hardware.fabric.nvswitch), {}});
  add("nics", "NICs", topology::VertexKind::nic);
  add("leaf_switches", "leaf switches", topology::VertexKind::leaf);
  add("spine_switches", "spine switches", topology::VertexKind::spine);
  if (counts[topology::VertexKind::core] > 0) add("core_switches", "core switches", topology::VertexKind::core);
  const int domains = cluster.domain_of(last) + 1;
  facts.push_back({{"gpus_without_rank", "GPUs of these domains without a rank", ColumnKind::count},
                   count_cell(domains * hardware.fabric.nvlink_domain_gpus - cluster.gpus()),
                   {}});
  return {"cluster", "Cluster", std::move(facts), {}};
}

/// One row for all edges that join the same kinds of vertices with the same figures.
Section links_section(const GraphParts& parts) {
  struct Kind {
    topology::LinkKind link;
    topology::VertexKind from, to;
    double bandwidth, latency;
    auto operator<=>(const Kind&) const = default;
  };
  std::map<Kind, std::int64_t> counts;
  for (const topology::Edge& edge : parts.edges)
    ++counts[{edge.kind, parts.vertices[std::size_t(edge.from)].kind, parts.vertices[std::size_t(edge.to)].kind,
              edge.bandwidth.value, edge.latency.value}];
  Table table;
  table.columns = {{"link", "link"},
                   {"from", "from"},
                   {"to", "to"},
                   {"count", "links", ColumnKind::count},
                   rate_column("gb_per_s", "GB/s"),
                   {"latency", "latency", ColumnKind::seconds}};
  for (const auto& [kind, count] : counts)
    table.rows.push_back({{text_cell(name_of(kind.link)), text_cell(name_of(kind.from)), text_cell(name_of(kind.to)),
                           count_cell(count), gb_per_s_cell(BytesPerSecond(kind.bandwidth)), Seconds(kind.latency)},
                          RowKind::data,
                          0});
  Section section{"links", "Links", std::move(table), {}};
  section.notes.push_back("GB/s: 1e9 bytes, one direction");
  return section;
}

Section routes_section(const Cluster& cluster) {
  Table table;
  table.columns = {{"pair", "pair"},
                   {"from", "from", ColumnKind::count},
                   {"to", "to", ColumnKind::count},
                   rate_column("gb_per_s", "GB/s"),
                   {"latency", "latency", ColumnKind::seconds},
                   {"network_switches", "switches", ColumnKind::count},
                   {"over_spine", "spine", ColumnKind::flag},
                   {"relayed", "relayed", ColumnKind::flag}};
  const topology::LinkMatrix matrix = cluster.link_matrix();
  std::set<topology::PairClass> seen;
  for (int to : matrix.ranks) {
    const int from = matrix.ranks.front();
    const topology::PairClass pair = cluster.pair_class(from, to);
    if (pair == topology::PairClass::self || !seen.insert(pair).second) continue;
    const topology::Route& route = cluster.route(from, to);
    table.rows.push_back({{text_cell(name_of(pair)), count_cell(from), count_cell(to), gb_per_s_cell(route.bandwidth),
                           route.latency, count_cell(route.network_switches), route.over_spine, route.relayed},
                          RowKind::data,
                          0});
  }
  Section section{"routes", "How ranks are joined", std::move(table), {}};
  section.notes.push_back("GB/s: of the narrowest link, nobody else sending; relayed: leaves by a neighbour's NIC");
  return section;
}

std::string members_text(GroupShape shape, int rank) {
  const std::vector<int> members = group_members(shape, rank);
  std::string text;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (i == kMembersShown && members.size() > kMembersShown + 1) return text + fmt::format(" .. {}", members.back());
    text += fmt::format("{}{}", i ? " " : "", members[i]);
  }
  return text;
}

/// The narrowest link that the group needs, when all groups of its kind send.
const char* bottleneck(const topology::GroupLinks& links) {
  if (links.domains <= 1) return "NVLink";
  switch (links.bound_by) {
    case topology::SharedLink::leaf_uplink: return "leaf uplink";
    case topology::SharedLink::core_uplink: return "core uplink";
    default: return "NIC";
  }
}

Row group_row(const Cluster& cluster, const char* name, GroupShape shape) {
  const topology::GroupLinks links = cluster.links({shape.size, shape.stride, shape.run, shape.jump});
  const auto latency = [](Seconds s) { return s.value > 0 ? Cell(s) : Cell(); };
  Row row;
  row.cells = {text_cell(name),
               count_cell(shape.size),
               count_cell(shape.stride),
               count_cell(links.members_per_domain),
               count_cell(links.domains),
               count_cell(links.nodes),
               gb_per_s_cell(links.nvlink),
               links.domains > 1 ? gb_per_s_cell(links.network) : Cell(),
               links.domains > 1 ? gb_per_s_cell(links.network_alltoall) : Cell(),
               text_cell(bottleneck(links)),
               count_cell(links.network_hops),
               latency(links.domains > 1 ? links.network_latency : links.nvlink_latency),
               text_cell(members_text(shape, 0))};
  return row;
}

Section groups_section(const Cluster& cluster, const PlacedGroups& groups) {
  Table table;
  table.columns = {{"group", "group"},
                   {"size", "size", ColumnKind::count},
                   {"stride", "stride", ColumnKind::count},
                   {"members_per_domain", "per domain", ColumnKind::count},
                   {"nvlink_domains", "domains", ColumnKind::count},
                   {"nodes", "nodes", ColumnKind::count},
                   rate_column("nvlink_gb_per_s", "NVLink GB/s"),
                   rate_column("network_gb_per_s", "network GB/s"),
                   rate_column("network_alltoall_gb_per_s", "all-to-all GB/s"),
                   {"bound_by", "bound by"},
                   {"network_switches", "switches", ColumnKind::count},
                   {"latency", "latency", ColumnKind::seconds},
                   {"members_of_rank_0", "group of rank 0"}};
  for (const auto& [name, shape] : report::named_shapes(groups)) table.rows.push_back(group_row(cluster, name.c_str(), shape));
  Section section{"groups", "Process groups of " + layout_id(groups.layout), std::move(table), {}};
  section.notes.push_back(
      "GB/s: per rank and direction, of the worst group while all groups of its kind send; bound by: the narrowest link that "
      "it needs");
  return section;
}

}  // namespace

Document topo_document(const HardwareSpec& hardware, const Cluster& cluster, const std::optional<PlacedGroups>& groups) {
  const GraphParts parts = cluster.parts();
  Document document;
  document.view = "topo";
  document.title = fmt::format("Topology: {} x {}", cluster.gpus(), hardware.name);
  document.sections = {sizes_section(hardware, cluster, parts), links_section(parts), routes_section(cluster),
                       report::matrix_section(hardware, cluster)};
  if (groups) {
    document.sections.push_back(groups_section(cluster, *groups));
    document.sections.push_back(report::placement_section(cluster, *groups));
  }
  document.sections.push_back(report::figures_section(hardware));
  return document;
}

}  // namespace shardfit
