// SPDX-License-Identifier: Apache-2.0
#include "topology/cluster_graph.hpp"

#include <algorithm>
#include <numeric>
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

/// GB/s of a GPU to each plane in service.
std::vector<double> rates_of_planes(const FabricSpec& fabric) {
  const double whole = fabric.nvlink_gb_per_s.value;
  std::vector<int> links = fabric.nvswitch.links;
  if (links.empty()) return {whole};
  const int all = std::accumulate(links.begin(), links.end(), 0);
  for (int failed = 0; failed < fabric.nvswitch.failed; ++failed) links.erase(std::max_element(links.begin(), links.end()));
  std::vector<double> rates;
  for (const int n : links) rates.push_back(whole * n / all);
  return rates;
}

class Builder {
 public:
  Builder(const HardwareSpec& hardware, const Placement& placement) : hardware_(hardware), p_(placement) {}

  ClusterGraph build() {
    add_vertices();
    for (int rank = 0; rank < p_.gpus; ++rank) add_gpu_links(rank);
    for (int leaf = 0; leaf < p_.leaves(); ++leaf) add_uplinks(leaf);
    for (int spine = 0; spine < spines(); ++spine) add_core_uplinks(spine);
    return std::move(result_);
  }

 private:
  int planes() const { return int(plane_rates_.size()); }
  int spines() const { return hardware_.fabric.spines * p_.pods(); }
  int at(VertexKind kind, int index) const { return result_.first[kind] + index; }

  void add(const Vertex& v) {
    if (v.index == 0) result_.first[v.kind] = int(boost::num_vertices(result_.graph));
    boost::add_vertex(v, result_.graph);
  }

  void add_vertices() {
    for (int r = 0; r < p_.gpus; ++r) add({VertexKind::gpu, r, p_.domain_of(r), p_.node_of(r), p_.rail_of(r), p_.unit_of(r)});
    for (int s = 0; s < p_.domains() * planes(); ++s) add({.kind = VertexKind::nvswitch, .index = s, .domain = s / planes()});
    for (int n = 0; n < p_.nodes(); ++n)
      add({.kind = VertexKind::cpu, .index = n, .domain = n / p_.nodes_per_domain, .node = n, .unit = n / p_.nodes_per_unit});
    for (int r = 0; r < p_.gpus; ++r) add({VertexKind::nic, r, p_.domain_of(r), p_.node_of(r), p_.rail_of(r), p_.unit_of(r)});
    for (int l = 0; l < p_.leaves(); ++l)
      add({.kind = VertexKind::leaf, .index = l, .rail = l % p_.gpus_per_node, .unit = l / p_.gpus_per_node});
    for (int s = 0; s < spines(); ++s) add({.kind = VertexKind::spine, .index = s, .pod = s / hardware_.fabric.spines});
    if (p_.pods() > 1)
      for (int c = 0; c < hardware_.fabric.core.switches; ++c) add({.kind = VertexKind::core, .index = c});
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
    for (int plane = 0; plane < planes(); ++plane)
      connect(gpu, at(VertexKind::nvswitch, p_.domain_of(rank) * planes() + plane), LinkKind::nvlink,
              plane_rates_[std::size_t(plane)], f.nvlink_latency_us.value / 2);
    connect(gpu, at(VertexKind::cpu, p_.node_of(rank)), LinkKind::host, hardware_.node.host_link_gb_per_s.value,
            kHostLatencyUs);
    connect(gpu, nic, LinkKind::pcie, f.nic_gb_per_s.value, 0);
    connect(nic, at(VertexKind::leaf, p_.leaf_of(rank)), LinkKind::rail, f.nic_gb_per_s.value,
            std::max(0.0, f.nic_latency_us.value / 2 - kUplinkLatencyUs));
  }

  /// Of a leaf to one spine, GB/s.
  double uplink_rate() const {
    const FabricSpec& f = hardware_.fabric;
    return p_.leaf_nodes * f.nic_gb_per_s.value / f.oversubscription.value / f.spines;
  }

  void add_uplinks(int leaf) {
    const int spines = hardware_.fabric.spines, pod = p_.pod_of_unit(leaf / p_.gpus_per_node);
    for (int s = 0; s < spines; ++s)
      connect(at(VertexKind::leaf, leaf), at(VertexKind::spine, pod * spines + s), LinkKind::uplink, uplink_rate(),
              kUplinkLatencyUs);
  }

  void add_core_uplinks(int spine) {
    if (p_.pods() == 1) return;
    const CoreTier& core = hardware_.fabric.core;
    const double down = p_.units_per_pod * p_.gpus_per_node * uplink_rate();
    for (int c = 0; c < core.switches; ++c)
      connect(at(VertexKind::spine, spine), at(VertexKind::core, c), LinkKind::core_uplink,
              down / core.oversubscription.value / core.switches, kUplinkLatencyUs);
  }

  const HardwareSpec& hardware_;
  const Placement& p_;
  const std::vector<double> plane_rates_ = rates_of_planes(hardware_.fabric);
  ClusterGraph result_;
};

}  // namespace

ClusterGraph build_graph(const HardwareSpec& hardware, const Placement& placement) {
  return Builder(hardware, placement).build();
}

}  // namespace shardfit::topology
