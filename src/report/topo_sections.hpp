// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/topo_view.hpp"

namespace shardfit::report {

/// Ranks against ranks, as `nvidia-smi topo -m` shows GPUs: the first node, and one rank of each farther kind.
///          GPU0  GPU1  GPU8  GPU9
///   GPU0   X     NV18  LEAF  PXN
Section matrix_section(const HardwareSpec& hardware, const topology::Cluster& cluster);

/// Where each process group of rank 0 lies: a line a domain, a mark a GPU, nodes apart.
///   tp   0   ##......|........
Section placement_section(const topology::Cluster& cluster, const PlacedGroups& groups);

/// The shapes of a layout's groups by name, those of more than one member.
std::vector<std::pair<std::string, GroupShape>> named_shapes(const GroupShapes& shapes);

}  // namespace shardfit::report
