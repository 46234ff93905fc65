// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/topo_view.hpp"

namespace shardfit::report {

/// Ranks against ranks, as `nvidia-smi topo -m` shows GPUs: the first node, and one rank of each farther kind.
///          GPU0  GPU1  GPU8  GPU9
///   GPU0   X     NV18  LEAF  PXN
Section matrix_section(const HardwareSpec& hardware, const topology::Cluster& cluster);

/// Where each process group of rank 0 lies: a mark a GPU, nodes and domains apart.
///   ep   0-1   ####|####|....|....  ####|####|....|....
Section placement_section(const topology::Cluster& cluster, const PlacedGroups& groups);

/// The shapes of a layout's groups by name, those of more than one member; the expert grid's where it is a grid of its own.
std::vector<std::pair<std::string, GroupShape>> named_shapes(const PlacedGroups& groups);

}  // namespace shardfit::report
