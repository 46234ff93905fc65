// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/nccl_constants.hpp"

namespace shardfit::comm {

/// A collective inside one NVLink domain. Bytes as block::Traffic has them; nvlink in bytes/us; times in us.
struct InDomain {
  int ranks = 1;
  double nvlink = 0;
  GpuGeneration generation = GpuGeneration::hopper;
  const CollectiveFit* fit = nullptr;  ///< none: that of the generation (a fit of one's own, to judge the formulas)
};

/// `passes` of a ring over a tensor of `bytes`: 1 for all-gather and reduce-scatter, 2 for all-reduce. NCCL's choice of
/// protocol and of NVLS is made as NCCL makes it.
double ring_collective_us(double bytes, int passes, const InDomain& in);

/// A whole tensor to all: a ring of chunks.
double broadcast_us(double bytes, const InDomain& in);

/// What an all-to-all of `ranks` takes beside streaming for `stream_us`: its start, a part for each peer, and the ramp.
double pairwise_overhead_us(const PairwiseFit& fit, double ranks, double stream_us);

/// Each rank sends bytes/ranks to every other.
double all_to_all_us(double bytes, const InDomain& in);

/// One message to one peer.
double send_us(double bytes, const InDomain& in);

}  // namespace shardfit::comm
