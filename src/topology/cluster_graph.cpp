// SPDX-License-Identifier: Apache-2.0
#include "topology/cluster_graph.hpp"

#include <algorithm>
#include <utility>

namespace shardfit::topology {
namespace {

/// One leaf-spine cable with its switch, us: half of what a cross-block RDMA write takes more than an in-block one.
/// Source: OCI GB300 RoCE latencies, 5.08-5.17 us against 2.75-2.82 us (2026-04). Kind: measured.
constexpr double kUplinkLatencyUs = 1.15;
/// GPU to host memory over C2C or PCIe, us. Source: OCI GB300 pointer chase (2026-04). Kind: measured; PCIe assumed
/// equal.
constexpr double kHostLatencyUs = 0.58;
/// Keeps routes between GPUs off the host links, s.
constexpr double kProhibitive = 1;

class Builder {
 public:
  Builder(const HardwareSpec& hardware, const Placement& placement) : hardware_(hardware), p_(placement) {}

  ClusterGraph build() {
    add_vertices();
    for (int rank = 0; rank < p_.gpus; ++rank) add_gpu_links(rank);
    for (int leaf = 0; leaf < p_.leaves(); ++leaf) add_uplinks(leaf);
    return std::move(result_);
  }

 private:
  int at(VertexKind kind, int index) const { return result_.first[kind] + index; }

  void add(const Vertex& v) {
    if (v.index == 0) result_.first[v.kind] = int(boost::num_vertices(result_.graph));
    boost::add_vertex(v, result_.graph);
  }

  void add_vertices() {
    for (int r = 0; r < p_.gpus; ++r)
      add({VertexKind::gpu, r, p_.domain_of(r), p_.node_of(r), p_.rail_of(r), p_.unit_of(r)});
    for (int d = 0; d < p_.domains(); ++d) add({.kind = VertexKind::nvswitch, .index = d, .domain = d});
    for (int n = 0; n < p_.nodes(); ++n)
      add({.kind = VertexKind::cpu, .index = n, .domain = n / p_.nodes_per_domain, .node = n,
           .unit = n / p_.nodes_per_unit});
    for (int r = 0; r < p_.gpus; ++r)
      add({VertexKind::nic, r, p_.domain_of(r), p_.node_of(r), p_.rail_of(r), p_.unit_of(r)});
    for (int l = 0; l < p_.leaves(); ++l)
      add({.kind = VertexKind::leaf, .index = l, .rail = l % p_.gpus_per_node, .unit = l / p_.gpus_per_node});
    for (int s = 0; s < hardware_.fabric.spines; ++s) add({.kind = VertexKind::spine, .index = s});
  }

  void connect(int from, int to, LinkKind kind, double gb_per_s_each_way, double latency_us) {
    const Seconds latency = microseconds(latency_us);
    const double cost = kind == LinkKind::host ? kProhibitive : latency.value;
    boost::add_edge(from, to, Link{kind, gb_per_s(gb_per_s_each_way), latency, cost}, result_.graph);
  }

  // Latencies of the spec are from end to end: NVLink's through one NVSwitch, the NIC's across blocks (leaf, spine,
  // leaf).
  void add_gpu_links(int rank) {
    const FabricSpec& f = hardware_.fabric;
    const int gpu = at(VertexKind::gpu, rank), nic = at(VertexKind::nic, rank);
    connect(gpu, at(VertexKind::nvswitch, p_.domain_of(rank)), LinkKind::nvlink, f.nvlink_gb_per_s.value,
            f.nvlink_latency_us.value / 2);
    connect(gpu, at(VertexKind::cpu, p_.node_of(rank)), LinkKind::host, hardware_.node.host_link_gb_per_s.value,
            kHostLatencyUs);
    connect(gpu, nic, LinkKind::pcie, f.nic_gb_per_s.value, 0);
    connect(nic, at(VertexKind::leaf, p_.leaf_of(rank)), LinkKind::rail, f.nic_gb_per_s.value,
            std::max(0.0, f.nic_latency_us.value / 2 - kUplinkLatencyUs));
  }

  void add_uplinks(int leaf) {
    const FabricSpec& f = hardware_.fabric;
    const double up = p_.leaf_nodes * f.nic_gb_per_s.value / f.oversubscription.value / f.spines;
    for (int s = 0; s < f.spines; ++s)
      connect(at(VertexKind::leaf, leaf), at(VertexKind::spine, s), LinkKind::uplink, up, kUplinkLatencyUs);
  }

  const HardwareSpec& hardware_;
  const Placement& p_;
  ClusterGraph result_;
};

}  // namespace

ClusterGraph build_graph(const HardwareSpec& hardware, const Placement& placement) {
  return Builder(hardware, placement).build();
}

}  // namespace shardfit::topology
