// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "block/op.hpp"
#include "comm/traffic_time.hpp"
#include "compute/work_time.hpp"
#include "shardfit/spec/coefficients.hpp"

namespace shardfit::estimate {

/// What of a pass decides how long a stage takes: linear in the operations, so that a stage sums these instead of terms.
struct PassLoad {
  double device = 0;  ///< device seconds where expert overlap hides nothing
  double hiding = 0;  ///< what is added to that where it hides all it can (below 0: it gains)
  double gemm = 0, host = 0, sync = 0;

  void add(const PassLoad& o, double n) {
    device += o.device * n;
    hiding += o.hiding * n;
    gemm += o.gemm * n;
    host += o.host * n;
    sync += o.sync * n;
  }
  double device_at(double ep_hidden) const { return device + hiding * ep_hidden; }
};

/// The load of what recompute runs again in backward, and what its checkpoints cost the host in forward.
struct RerunLoad {
  PassLoad pass;
  double forward_host = 0;
};

/// Seconds of one pass of some operations on one micro-batch, by where they will stand in the time ledger. Sums of
/// operations are sums of these.
struct PassTime {
  double gemm = 0, experts = 0, attention = 0, scan = 0, memory = 0, quantize = 0, gaps = 0;
  double tp = 0, ep = 0, cp = 0;  ///< exposed traffic (ep: before expert overlap hides its part)
  double ep_hideable = 0;         ///< of ep, what the compute of a combined 1F1B pair is long enough to hide
  double ep_slowing = 0;          ///< the same, weighted by the SMs that the dispatcher takes from that compute
  double hidden = 0;              ///< traffic behind compute, busy seconds
  double sync = 0;                ///< device idle while the host reads row counts
  double host = 0;                ///< CPU time beside all that
  double serial = 0;              ///< host loops that the device waits for

  PassTime& operator+=(const PassTime& o);
  void add(const PassTime& o, double n);  ///< `n` of them
  /// Device seconds with a share `ep_hidden` of the hideable expert traffic behind compute. A second of hidden traffic
  /// slows the compute by `slowdown` seconds.
  double device(double ep_hidden, double slowdown) const {
    return gemm + experts + attention + scan + memory + quantize + gaps + tp + exposed_ep(ep_hidden) + cp + sync + serial +
           (hidden + ep_slowing * ep_hidden) * slowdown;
  }
  double exposed_ep(double ep_hidden) const { return ep - ep_hideable * ep_hidden; }
  PassLoad load(double slowdown) const {
    return {
        .device = device(0, slowdown), .hiding = ep_slowing * slowdown - ep_hideable, .gemm = gemm, .host = host, .sync = sync};
  }
};

/// An operation with its kernels and collectives timed: what does not depend on recompute, graphs or overlap.
struct TimedOp {
  EnumSet<RecomputeModule> recomputed_by;
  std::optional<GraphScope> scope;
  block::View view = block::View::attention;
  compute::WorkTime forward, backward;
  comm::TrafficTime forward_traffic, backward_traffic;
};
using TimedOps = std::vector<TimedOp>;

struct TimingRates {
  const compute::Device* device = nullptr;
  const comm::LayoutLinks* links = nullptr;
  comm::Network network;
  double permute_left = 1;  ///< Coefficient::permute_left
};

TimedOps time_ops(const block::OpList& ops, const TimingRates& rates);

/// The compute of a pass that expert traffic can hide behind, and the traffic, by where the schedule puts them.
struct Halves {
  double attention = 0, experts = 0, dispatch = 0, combine = 0;
};

/// Launches of the operations of one graph scope: what they cost depends on whether a graph replays them.
struct Launches {
  double kernels_attention = 0, kernels_experts = 0;  ///< of each half of a layer
  double looped = 0;                                  ///< of both, launches by a loop in C++
  double calls = 0;
  EnumSet<RecomputeModule> checkpoints;  ///< of a rerun: the modules that run again
  bool any = false;
};

/// One pass of some operations with everything that no graph changes summed up; launches are apart, by scope.
struct PassSum {
  PassTime time;  ///< without gaps and host
  Halves halves;  ///< without gaps
  EnumArray<GraphScope, Launches> in_scope{};
  Launches without_scope;
};
/// Only what the layout's dispatcher and its overlap of tensor-parallel traffic decide is read of it.
PassSum forward_sum(const TimedOps& ops, const Layout& layout, const TimingRates& rates);
PassSum backward_sum(const TimedOps& ops, const Layout& layout, const TimingRates& rates);
/// Of the forward, what selective recompute runs again; full recompute runs all of it.
PassSum rerun_sum(const TimedOps& ops, const Layout& layout, const TimingRates& rates);

/// Forward and backward under a layout's graphs, and what expert overlap can hide of them.
struct BlockPasses {
  PassTime forward, backward;
};
BlockPasses block_passes(const PassSum& forward, const PassSum& backward, const CudaGraph& graph, const TimingRates& rates);
/// Host seconds of checkpoints beside what they run again: states saved forward, set and restored around the second run.
struct CheckpointHost {
  double forward = 0, backward = 0;
};
/// None in a graph of the whole iteration.
CheckpointHost checkpoint_host(int checkpoints, const CudaGraph& graph, const TimingRates& rates);

/// What selective recompute runs again, and what its checkpoints cost the host in the forward pass.
struct Rerun {
  PassTime pass;
  double forward_host = 0;
};
/// Under the layout's graphs.
Rerun rerun_pass(const PassSum& rerun, const CudaGraph& graph, const TimingRates& rates);

/// A block's passes under a layout's recompute, graphs and overlap.
struct BlockTime {
  PassTime forward, backward, rerun;
};
BlockTime block_time(const TimedOps& ops, const Layout& layout, const TimingRates& rates);

}  // namespace shardfit::estimate
