// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/base/names.hpp"
#include "shardfit/base/units.hpp"

namespace shardfit::topology {

/// How two ranks lie to each other. All pairs of one class have the same route, hop for hop, because the cluster is
/// built of equal parts. `other_rail`: the GPUs sit at different places of their nodes, so their NICs meet no
/// common leaf.
enum class PairClass {
  self,
  same_node,
  same_domain,
  same_unit,
  same_unit_other_rail,
  other_unit,
  other_unit_other_rail,
  other_pod,
  other_pod_other_rail,
  count
};

/// The quickest way from one GPU to another on the graph.
struct Route {
  bool exists = false;  ///< false for a class that the cluster has no pair of
  Seconds latency;
  int nvlink_hops = 0;       ///< edges GPU to NVSwitch or back
  int network_switches = 0;  ///< leaf, spine and core switches passed; 0: inside the domain
  bool over_spine = false, over_core = false;
  bool relayed = false;      ///< leaves through the NIC of a neighbour GPU on the receiver's rail (NCCL calls this PXN)
  BytesPerSecond bandwidth;  ///< of the narrowest link, unshared; parallel planes and spines count together
};

}  // namespace shardfit::topology

namespace shardfit {
template <>
inline constexpr NameList<topology::PairClass> kNames<topology::PairClass> = {"self",
                                                                              "same_node",
                                                                              "same_domain",
                                                                              "same_unit",
                                                                              "same_unit_other_rail",
                                                                              "other_unit",
                                                                              "other_unit_other_rail",
                                                                              "other_pod",
                                                                              "other_pod_other_rail"};
}  // namespace shardfit
