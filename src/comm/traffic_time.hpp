// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "block/op.hpp"
#include "shardfit/spec/scenario.hpp"
#include "topology/group_links.hpp"

namespace shardfit::comm {

using topology::GroupLinks;

/// Links of every group of a layout.
using LayoutLinks = EnumArray<block::Group, GroupLinks>;

/// The plain numbers that collective formulas read.
struct Network {
  double dispatch_nvlink = 1, alltoall_rate = 1, dispatch_network = 1;  ///< shared coefficients
  GpuGeneration generation = GpuGeneration::hopper;
  Dispatcher dispatcher = Dispatcher::alltoall;
  int dispatcher_sms = 0;
  int deepep_version = 1;
  bool sharp = false;  ///< all-reduces across domains in the InfiniBand switches
};
/// `sms`: of the expert library; 0: its default.
Network make_network(const TimeCoefficients& time, const HardwareSpec& hardware, Dispatcher dispatcher, int sms);
Network make_network(const Job& job, const Layout& layout);

/// SMs that the expert library takes while it runs; 0 where NCCL does the work.
int sms_taken(const Network& network) noexcept;

/// Time of one collective call as if nothing else ran, s. 0 for a group of one.
double collective_time(block::CollectiveKind kind, double bytes, const GroupLinks& links, const Network& network) noexcept;

/// Dispatch or combine of expert tokens, s: what one rank's NVLink and NIC carry, by library.
double dispatch_time(const block::Traffic& traffic, const GroupLinks& links, const Network& network) noexcept;

/// Of either kind: expert tokens by dispatch_time, all else by collective_time.
double call_time(const block::Traffic& traffic, const GroupLinks& links, const Network& network) noexcept;

/// What one rank sends for a call, bytes (inside the domain, and across domains).
struct SentBytes {
  double nvlink = 0, network = 0;
};
SentBytes sent_bytes(const block::Traffic& traffic, const GroupLinks& links, const Network& network) noexcept;

/// What most of a call's time goes to: bytes on NVLink, on the NIC, on the uplinks of a leaf or of a pod that groups share,
/// the copying SMs of an expert library; latency where a call of next to nothing takes half of it.
enum class Bound { nothing, latency, nvlink, nic, leaf_uplink, core_uplink, sms, count };
Bound bound_of(const block::Traffic& traffic, const GroupLinks& links, const Network& network) noexcept;

/// Traffic of one operation's pass, s, by what it may hide behind.
struct TrafficTime {
  double tp = 0;         ///< exposed, or chopped up by tp_comm overlap
  double tp_hidden = 0;  ///< behind GEMMs in any case, as far as they last
  double ep = 0;         ///< dispatch, combine and expert-tensor gathers
  double cp = 0;         ///< exposed kinds (a2a, all_gather)
  double cp_hidden = 0;  ///< ring behind attention, as far as that lasts
};
TrafficTime time_of(const block::Work& work, const LayoutLinks& links, const Network& network) noexcept;

}  // namespace shardfit::comm

namespace shardfit {
template <>
inline constexpr NameList<comm::Bound> kNames<comm::Bound> = {"nothing",     "latency",     "NVLink", "NIC",
                                                              "leaf uplink", "core uplink", "SMs"};
}  // namespace shardfit
