// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "report/topo_sections.hpp"

namespace shardfit::report {
namespace {

using topology::Cluster;
using topology::PairClass;

constexpr int kDomainsDrawn = 4;   // of a group that spans more

/// NVLinks of a GPU: A100 12, later ones 18. Source: NVIDIA product pages. Kind: datasheet.
int nvlinks(GpuGeneration generation) { return generation == GpuGeneration::ampere ? 12 : 18; }

std::string mark_of(PairClass pair, GpuGeneration generation) {
  switch (pair) {
    case PairClass::self: return "X";
    case PairClass::same_node:
    case PairClass::same_domain: return fmt::format("NV{}", nvlinks(generation));
    case PairClass::same_unit: return "LEAF";
    case PairClass::same_unit_other_rail: return "LEAF+";
    case PairClass::other_unit: return "SPINE";
    default: return "SPINE+";
  }
}

/// Members of a domain as a picture: '#' in the group, '.' outside, '|' between nodes.
std::string picture_of(const Cluster& cluster, int domain, const std::vector<int>& members) {
  std::string picture;
  for (int rank = 0, last_node = -1; rank < cluster.gpus(); ++rank) {
    if (cluster.domain_of(rank) != domain) continue;
    const int node = cluster.node_of(rank);
    if (last_node >= 0 && node != last_node) picture += '|';
    last_node = node;
    picture += std::binary_search(members.begin(), members.end(), rank) ? '#' : '.';
  }
  return picture;
}

std::vector<int> domains_of(const Cluster& cluster, const std::vector<int>& members) {
  std::vector<int> domains;
  for (const int rank : members)
    if (domains.empty() || domains.back() != cluster.domain_of(rank)) domains.push_back(cluster.domain_of(rank));
  return domains;
}

}  // namespace

std::vector<std::pair<std::string, GroupShape>> named_shapes(const GroupShapes& s) {
  std::vector<std::pair<std::string, GroupShape>> named = {
      {"tp", s.tp}, {"cp", s.cp}, {"dp", s.dp}, {"dp_cp", s.dp_cp}, {"pp", s.pp},
      {"etp", s.etp}, {"ep", s.ep}, {"tp_ep", s.tp_ep}, {"edp", s.edp}};
  std::erase_if(named, [](const auto& group) { return group.second.size <= 1; });
  return named;
}

Section matrix_section(const HardwareSpec& hardware, const Cluster& cluster) {
  const topology::LinkMatrix matrix = cluster.link_matrix();
  Table table;
  table.columns = {{"rank", ""}};
  for (const int rank : matrix.ranks)
    table.columns.push_back({fmt::format("gpu{}", rank), fmt::format("GPU{}", rank)});
  for (std::size_t row = 0; row < matrix.ranks.size(); ++row) {
    Row cells{{text_cell(fmt::format("GPU{}", matrix.ranks[row]))}};
    for (const PairClass pair : matrix.pairs[row]) cells.cells.push_back(text_cell(mark_of(pair, hardware.gpu.generation)));
    table.rows.push_back(std::move(cells));
  }
  Section section{"matrix", "First node, and one rank of each farther kind", std::move(table), {}};
  section.notes = {"NV: NVLink of one domain; LEAF: one leaf switch; SPINE: over a spine; +: another rail, so that the message "
                   "leaves by a neighbour's NIC"};
  return section;
}

Section placement_section(const Cluster& cluster, const PlacedGroups& groups) {
  Table table;
  table.columns = {{"group", "group"}, {"nvlink_domain", "domain", ColumnKind::count}, {"gpus", "GPUs"}};
  for (const auto& [name, shape] : named_shapes(groups.shapes)) {
    const std::vector<int> members = group_members(shape, 0);
    const std::vector<int> domains = domains_of(cluster, members);
    const std::size_t drawn = std::min(domains.size(), std::size_t(kDomainsDrawn));
    for (std::size_t i = 0; i < drawn; ++i)
      table.rows.push_back({{text_cell(i == 0 ? name : ""), count_cell(domains[i]),
                             text_cell(picture_of(cluster, domains[i], members))}});
    if (domains.size() > drawn)
      table.rows.push_back({{text_cell(""), Cell(), text_cell(fmt::format("and {} domains more, to domain {}",
                                                                         domains.size() - drawn, domains.back()))}});
  }
  Section section{"placement", "Where the groups of rank 0 lie", std::move(table), {}};
  section.notes = {"#: a member, .: another rank, |: between nodes; a line an NVLink domain"};
  return section;
}

}  // namespace shardfit::report
