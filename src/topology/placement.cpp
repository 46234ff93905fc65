// SPDX-License-Identifier: Apache-2.0
#include "topology/placement.hpp"

#include <algorithm>
#include <string>

#include "shardfit/base/error.hpp"

namespace shardfit::topology {
namespace {

void require_positive(const HardwareSpec& hardware, const char* pointer, int value) {
  if (value >= 1) return;
  throw InputError(hardware.source_file, pointer, std::to_string(value), "a number of at least 1");
}

void require_above_zero(const HardwareSpec& hardware, const char* pointer, const Figure& figure) {
  if (figure.value > 0) return;
  throw InputError(hardware.source_file, pointer, std::to_string(figure.value), "a number above 0");
}

int gpus_used_per_domain(const FabricSpec& fabric, int gpus) {
  const int placed = std::min(fabric.placed_per_domain, fabric.nvlink_domain_gpus);
  const bool needs_the_spare_ones = gpus > placed && gpus <= fabric.nvlink_domain_gpus;
  return needs_the_spare_ones ? fabric.nvlink_domain_gpus : placed;
}

}  // namespace

PairClass Placement::pair_class(int a, int b) const {
  if (a == b) return PairClass::self;
  if (node_of(a) == node_of(b)) return PairClass::same_node;
  if (domain_of(a) == domain_of(b)) return PairClass::same_domain;
  const bool same_rail = rail_of(a) == rail_of(b);
  if (unit_of(a) == unit_of(b)) return same_rail ? PairClass::same_unit : PairClass::same_unit_other_rail;
  if (pod_of(a) == pod_of(b)) return same_rail ? PairClass::other_unit : PairClass::other_unit_other_rail;
  return same_rail ? PairClass::other_pod : PairClass::other_pod_other_rail;
}

Placement place(const HardwareSpec& hardware, int gpus) {
  const FabricSpec& fabric = hardware.fabric;
  require_positive(hardware, "/gpus", gpus);
  require_positive(hardware, "/node/gpus", hardware.node.gpus);
  require_positive(hardware, "/fabric/nvlink_domain_gpus", fabric.nvlink_domain_gpus);
  require_positive(hardware, "/fabric/placed_per_domain", fabric.placed_per_domain);
  require_positive(hardware, "/fabric/leaf_ports_down", fabric.leaf_ports_down);
  require_positive(hardware, "/fabric/spines", fabric.spines);
  require_positive(hardware, "/fabric/nodes_per_leaf_group", fabric.nodes_per_leaf_group);
  require_above_zero(hardware, "/fabric/oversubscription", fabric.oversubscription);
  if (fabric.core.units_per_pod > 0) {
    require_positive(hardware, "/fabric/core/switches", fabric.core.switches);
    require_above_zero(hardware, "/fabric/core/oversubscription", fabric.core.oversubscription);
  }
  const int planes = std::max(1, int(fabric.nvswitch.links.size()));
  if (fabric.nvswitch.failed >= planes)
    throw InputError(hardware.source_file, "/fabric/nvswitch_planes/failed", std::to_string(fabric.nvswitch.failed),
                     "fewer than the planes there are, " + std::to_string(planes));

  Placement p;
  p.gpus = gpus;
  p.gpus_per_domain = gpus_used_per_domain(fabric, gpus);
  p.gpus_per_node = std::min(hardware.node.gpus, p.gpus_per_domain);
  p.nodes_per_domain = (p.gpus_per_domain + p.gpus_per_node - 1) / p.gpus_per_node;
  p.leaf_nodes = std::min(fabric.nodes_per_leaf_group, fabric.leaf_ports_down);
  p.nodes_per_unit = std::max(1, p.leaf_nodes - fabric.spare_nodes_per_leaf_group);
  if (p.nodes_per_unit >= p.nodes_per_domain) p.nodes_per_unit -= p.nodes_per_unit % p.nodes_per_domain;
  p.units_per_pod = fabric.core.units_per_pod;
  return p;
}

}  // namespace shardfit::topology
