// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/traffic_time.hpp"

namespace shardfit::comm {

/// What the copying of expert tokens costs the SMs that do it: per token a fixed part, and a rate for every copy made.
struct CopyCost {
  double token_us = 0;           ///< us of one SM a token
  double sm_gb_per_s = 0;        ///< of one SM; 0: no SMs of its own (NCCL)
  double copies_per_domain = 0;  ///< beside the copy to each rank: those through network buffers, a domain reached
};

/// Fitted costs of the network's library for a dispatch or a combine.
const CopyCost& copy_cost(const Network& network, bool dispatch) noexcept;

/// Fitted (errors in expert_library.cpp): share of NVLink that HybridEP's and DeepEP's kernels reach alone, by the ranks
/// of the group; and of a NIC's all-to-all rate. A step reaches the smaller shares of Coefficient::dispatch_nvlink and
/// dispatch_network, which hold ranks waiting for one another too.
double kernel_nvlink_share(int ranks) noexcept;
inline constexpr double kKernelNetworkShare = 0.9;

/// Time that the copying SMs need, us: tokens * (token_us + (hits + copies*domains) * width / rate) / SMs; 0 for NCCL.
double copy_time_us(const block::Traffic& traffic, const GroupLinks& links, const Network& network) noexcept;

}  // namespace shardfit::comm
