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
  double device = 0;               ///< device seconds where expert overlap hides nothing
  double hiding = 0;               ///< what is added to that where it hides all it can (below 0: it gains)
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

/// Seconds of one pass of some operations on one micro-batch, by where they will stand in the time ledger. Sums of
/// operations are sums of these.
struct PassTime {
  double gemm = 0, experts = 0, attention = 0, scan = 0, memory = 0, quantize = 0, gaps = 0;
  double tp = 0, ep = 0, cp = 0;   ///< exposed traffic (ep: before expert overlap hides its part)
  double ep_hideable = 0;          ///< of ep, what the compute of a combined 1F1B pair is long enough to hide
  double ep_slowing = 0;           ///< the same, weighted by the SMs that the dispatcher takes from that compute
  double hidden = 0;               ///< traffic behind compute, busy seconds
  double sync = 0;                 ///< device idle while the host reads row counts
  double host = 0;                 ///< CPU time beside all that
  double serial = 0;               ///< host loops that the device waits for

  PassTime& operator+=(const PassTime& o);
  void add(const PassTime& o, double n);   ///< `n` of them
  /// Device seconds with a share `ep_hidden` of the hideable expert traffic behind compute. A second of hidden traffic
  /// slows the compute by `slowdown` seconds.
  double device(double ep_hidden, double slowdown) const {
    return gemm + experts + attention + scan + memory + quantize + gaps + tp + exposed_ep(ep_hidden) + cp + sync + serial +
           (hidden + ep_slowing * ep_hidden) * slowdown;
  }
  double exposed_ep(double ep_hidden) const { return ep - ep_hideable * ep_hidden; }
  PassLoad load(double slowdown) const {
    return {.device = device(0, slowdown), .hiding = ep_slowing * slowdown - ep_hideable, .gemm = gemm, .host = host, .sync = sync};
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
  double permute_left = 1;         ///< Coefficient::permute_left
  double tp_overlap_exposed = 1;   ///< Coefficient::tp_overlap_exposed
};

TimedOps time_ops(const block::OpList& ops, const TimingRates& rates);

/// A block's passes under a layout's recompute, graphs and overlap. `rerun`: the part of the forward that selective
/// recompute runs again; full recompute runs `forward` again.
struct BlockTime {
  PassTime forward, backward, rerun;
};
BlockTime block_time(const TimedOps& ops, const Layout& layout, const TimingRates& rates);

}  // namespace shardfit::estimate
