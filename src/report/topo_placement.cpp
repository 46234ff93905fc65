// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "report/topo_sections.hpp"

namespace shardfit::report {
namespace {

using topology::Cluster;
using topology::PairClass;

constexpr std::size_t kLinesDrawn = 4;  // of a group that spans more
constexpr std::size_t kLineWidth = 80;  // domains are put side by side up to it

/// NV and the links of a GPU that work, over all planes.
std::string nvlink_mark(const FabricSpec& fabric) {
  std::vector<int> links = fabric.nvswitch.links;
  if (links.empty()) return "NV";
  std::sort(links.begin(), links.end());  // the widest planes are those that failed
  links.resize(links.size() - std::size_t(fabric.nvswitch.failed));
  return fmt::format("NV{}", std::accumulate(links.begin(), links.end(), 0));
}

std::string mark_of(PairClass pair, const FabricSpec& fabric) {
  switch (pair) {
    case PairClass::self: return "X";
    case PairClass::same_node:
    case PairClass::same_domain: return nvlink_mark(fabric);
    case PairClass::same_unit: return "LEAF";
    case PairClass::same_unit_other_rail: return "LEAF+";
    case PairClass::other_unit: return "SPINE";
    case PairClass::other_unit_other_rail: return "SPINE+";
    case PairClass::other_pod: return "CORE";
    default: return "CORE+";
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

/// "0-3", or "0 8" where they do not follow one another.
std::string domains_text(const std::vector<int>& domains, std::size_t from, std::size_t to) {
  if (to - from == 1) return fmt::format("{}", domains[from]);
  if (domains[to - 1] - domains[from] == int(to - from) - 1) return fmt::format("{}-{}", domains[from], domains[to - 1]);
  return fmt::format("{}", fmt::join(domains.begin() + std::ptrdiff_t(from), domains.begin() + std::ptrdiff_t(to), " "));
}

/// The lines of one group: small domains side by side, two blanks apart.
void draw(const std::string& name, const Cluster& cluster, const std::vector<int>& members, Table& table) {
  const std::vector<int> domains = domains_of(cluster, members);
  const std::size_t width = picture_of(cluster, domains[0], members).size() + 2,
                    side_by_side = std::max(std::size_t(1), kLineWidth / width);
  for (std::size_t from = 0, line = 0; from < domains.size(); from += side_by_side, ++line) {
    if (line == kLinesDrawn) {
      table.rows.push_back(
          {{text_cell(""), text_cell(""),
            text_cell(fmt::format("and {} domains more, to domain {}", domains.size() - from, domains.back()))}});
      return;
    }
    const std::size_t to = std::min(from + side_by_side, domains.size());
    std::string picture;
    for (std::size_t i = from; i < to; ++i) picture += (i > from ? "  " : "") + picture_of(cluster, domains[i], members);
    table.rows.push_back({{text_cell(line == 0 ? name : ""), text_cell(domains_text(domains, from, to)), text_cell(picture)}});
  }
}

}  // namespace

std::vector<std::pair<std::string, GroupShape>> named_shapes(const PlacedGroups& groups) {
  const GroupShapes& s = groups.shapes;
  const bool experts_apart = groups.has_experts && (s.ep.size > 1 || s.etp.size != s.tp.size);
  std::vector<std::pair<std::string, GroupShape>> named = {
      {"tp", s.tp}, {"cp", s.cp}, {"dp", s.dp}, {"dp_cp", s.dp_cp}, {"pp", s.pp}};
  if (experts_apart) named.insert(named.end(), {{"etp", s.etp}, {"ep", s.ep}, {"tp_ep", s.tp_ep}, {"edp", s.edp}});
  std::erase_if(named, [](const auto& group) { return group.second.size <= 1; });
  return named;
}

Section matrix_section(const HardwareSpec& hardware, const Cluster& cluster) {
  const topology::LinkMatrix matrix = cluster.link_matrix();
  Table table;
  table.columns = {{"rank", ""}};
  for (const int rank : matrix.ranks) table.columns.push_back({fmt::format("gpu{}", rank), fmt::format("GPU{}", rank)});
  for (std::size_t row = 0; row < matrix.ranks.size(); ++row) {
    Row cells{{text_cell(fmt::format("GPU{}", matrix.ranks[row]))}};
    for (const PairClass pair : matrix.pairs[row]) cells.cells.push_back(text_cell(mark_of(pair, hardware.fabric)));
    table.rows.push_back(std::move(cells));
  }
  Section section{"matrix", "First node, and one rank of each farther kind", std::move(table), {}};
  section.notes = {
      "NV: NVLink of one domain; LEAF: one leaf switch; SPINE: over a spine; CORE: over a core switch; +: another rail, so "
      "that the message "
      "leaves by a neighbour's NIC"};
  return section;
}

Section placement_section(const Cluster& cluster, const PlacedGroups& groups) {
  Table table;
  table.columns = {{"group", "group"}, {"nvlink_domains", "domains"}, {"gpus", "GPUs"}};
  for (const auto& [name, shape] : named_shapes(groups)) draw(name, cluster, group_members(shape, 0), table);
  Section section{"placement", "Where the groups of rank 0 lie", std::move(table), {}};
  section.notes = {"#: a member, .: another rank, |: between nodes of a domain, blank: between NVLink domains"};
  return section;
}

}  // namespace shardfit::report
