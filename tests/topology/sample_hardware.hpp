// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/spec/hardware.hpp"

namespace shardfit {

/// 8 GPUs a node and NVLink domain, a 400 Gb/s NIC each, 32 nodes a scalable unit.
inline HardwareSpec hgx_b200() {
  HardwareSpec h;
  h.name = "b200-hgx";
  h.gpu.generation = GpuGeneration::blackwell;
  h.node.gpus = 8;
  h.node.host_link_gb_per_s.value = 63;
  FabricSpec& f = h.fabric;
  f.nvlink_domain_gpus = f.placed_per_domain = 8;
  f.nvlink_gb_per_s.value = 900;
  f.nvlink_latency_us.value = 1.7;
  f.nic_gb_per_s.value = f.nic_alltoall_gb_per_s.value = 50;
  f.nic_latency_us.value = 5.1;  // across blocks; 2.8 within
  f.leaf_ports_down = 32;
  f.nodes_per_leaf_group = 32;
  f.spines = 8;
  f.oversubscription.value = 1;
  return h;
}

/// 18 trays of 4 GPUs in a domain of 72, of which jobs get 64.
inline HardwareSpec nvl72_gb200() {
  HardwareSpec h = hgx_b200();
  h.name = "gb200-nvl72";
  h.node.gpus = 4;
  h.node.cpu = HostCpu::grace;
  h.node.host_link_gb_per_s.value = 225;
  h.fabric.nvlink_domain_gpus = 72;
  h.fabric.placed_per_domain = 64;
  return h;
}

}  // namespace shardfit
