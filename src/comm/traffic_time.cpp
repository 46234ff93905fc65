// SPDX-License-Identifier: Apache-2.0
// Computes:   time of all traffic of one operation's pass, by what it may hide behind.
// Formula:    calls * call_time, added to the slot of its group.
// Source:     slots as the step-time model composes them: expert groups are hidden by expert overlap only, TP behind GEMMs,
//             the CP ring behind attention.
// Checked by: tests/comm/traffic_time_test.cpp.
#include "comm/traffic_time.hpp"

namespace shardfit::comm {
namespace {

using block::CollectiveKind;
using block::Group;
using block::Hides;

bool carries_experts(Group group) { return group == Group::ep || group == Group::etp || group == Group::tp_ep; }
bool splits_context(Group group) { return group == Group::cp || group == Group::cp_a2a || group == Group::cp_p2p; }

double& slot_of(const block::Traffic& traffic, TrafficTime& time) {
  if (carries_experts(traffic.group)) return time.ep;
  if (splits_context(traffic.group)) return traffic.hides == Hides::nothing ? time.cp : time.cp_hidden;
  return traffic.hides == Hides::nothing ? time.tp : time.tp_hidden;
}

}  // namespace

Network make_network(const TimeCoefficients& time, const HardwareSpec& hardware, Dispatcher dispatcher, int sms) {
  Network n;
  n.dispatch_nvlink = time[Coefficient::dispatch_nvlink];
  n.alltoall_rate = time[Coefficient::alltoall_rate];
  n.dispatch_network = time[Coefficient::dispatch_network];
  n.generation = hardware.gpu.generation;
  n.dispatcher = dispatcher;
  n.dispatcher_sms = sms;
  return n;
}

Network make_network(const Job& job, const Layout& layout) {
  Network n = make_network(job.time, job.hardware, layout.dispatcher, layout.dispatcher_sms);
  n.deepep_version = job.stack.deepep_version;
  return n;
}

double call_time(const block::Traffic& t, const GroupLinks& links, const Network& network) noexcept {
  const bool expert_tokens = t.kind == CollectiveKind::dispatch || t.kind == CollectiveKind::combine;
  return expert_tokens ? dispatch_time(t, links, network) : collective_time(t.kind, t.bytes, links, network);
}

TrafficTime time_of(const block::Work& work, const LayoutLinks& links, const Network& network) noexcept {
  TrafficTime time;
  for (const block::Traffic& t : work.traffic) {
    slot_of(t, time) += t.calls * call_time(t, links[t.group], network);
  }
  return time;
}

}  // namespace shardfit::comm
