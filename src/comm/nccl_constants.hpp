// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shardfit/spec/hardware.hpp"

namespace shardfit::comm {

// Two kinds of numbers, kept apart: what NCCL believes (it picks algorithm and protocol by them) and what its kernels
// really take (fitted). Times in us, rates in bytes/us unless said.

enum class Protocol { ll, ll128, simple, count };

/// NCCL's own estimates of one GPU generation.
struct NcclBelief {
  double ring;                         ///< rate of one link times links of a GPU
  double ll;                           ///< cap of the LL protocol on one node
  double ll128;                        ///< 0: not taken for rings
  double nvls;                         ///< 0: no NVLink SHARP
  double ll_two_nodes, ll_more_nodes;  ///< caps of LL across nodes
};

/// Rings over NVLink, in any collective. Six fitted numbers.
struct RingFit {
  double base;        ///< launch and ends
  double hop_ll;      ///< one step of LL
  double hop_simple;  ///< one step of Simple, which passes on whole chunks only
  double rate;        ///< over the NVLink rate
  double own_copy;    ///< rate of copying the rank's own part, over the NVLink rate
  double ramp;        ///< us per root of the streaming time in us: channels and chunks grow with the message
};

/// All-reduce (and, in large domains, gather and scatter) in the switch. Three fitted numbers.
struct NvlsFit {
  double base, rate, ramp;
};

/// All-to-all and send/recv. Five fitted numbers.
struct PairwiseFit {
  double base, peer, rate, own_copy, ramp;
};

/// All fitted numbers of a GPU generation.
struct CollectiveFit {
  RingFit ring;
  NvlsFit nvls;
  PairwiseFit pairwise;
};

const NcclBelief& nccl_belief(GpuGeneration generation);
const CollectiveFit& collective_fit(GpuGeneration generation);

/// NCCL's latency of a protocol on NVLink: base and step of rings. Same source as NcclBelief.
struct ProtocolLatency {
  double base, hop;
};
inline constexpr EnumArray<Protocol, ProtocolLatency> kRingBelief{{{{6.6, 0.6}, {14, 1.9}, {8.4, 3.4}}}};
inline constexpr double kNvlsBeliefLatency = 25;

/// A step of LL128 over one of LL, by NCCL's table (1.9 us over 0.6 us); the measured steps follow it.
inline constexpr double kLl128OverLlHop = 1.9 / 0.6;
/// Data words of a 128-byte LL128 line. Source: protocol layout, 120 of 128 bytes, and NCCL's 0.92.
inline constexpr double kLl128Share = 0.92;
/// Steps of LL over the network: ring, tree. Source: NCCL tuning.cc. Kind: datasheet.
inline constexpr double kLlNetworkHopRing = 2.7, kLlNetworkHopTree = 5.0;
/// A Simple step over the network without the fabric's own latency: NCCL's 14 us less the 2.8 us of an in-block RDMA
/// write (OCI). Kind: datasheet.
inline constexpr double kProxyHop = 11.2;
/// Part of the NIC rate that rings reach: 48.5 of 50 GB/s (SimAI CX-7; nccl-tests reports of 46-48). Kind: measured.
inline constexpr double kNicShare = 0.97;
/// Ramp grows with the ranks: us per root of us and rank. One number for 8 GPUs, 72 (one rack), 144 and 1440.
/// Source: CoreWeave GB200 all-reduce tables (2025-26). Kind: fitted; errors in network_collectives.cpp.
inline constexpr double kRampPerRank = 0.114;
/// NVLS pays from this many GPUs on. Source: ml-engineering, B200 gain 1.0 below 6, 1.15-1.23 above. Kind: measured.
inline constexpr int kNvlsFromRanks = 6;
/// All-gather and reduce-scatter tables of up to this many GPUs follow the ring whatever NCCL's estimate of NVLS says.
inline constexpr int kRingOnlyGatherRanks = 8;
/// Steps each way of the part inside a domain before the network takes over, at most (an HGX node's; assumed the same
/// for a rack, where the switch does the reduction).
inline constexpr int kStepsBeforeNetwork = 7;

}  // namespace shardfit::comm
