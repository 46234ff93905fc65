// SPDX-License-Identifier: Apache-2.0
// Computes:   time of NCCL collectives over several NVLink domains, one NIC a GPU.
// Formula:    n ranks, m in each of R domains. Rings run one a NIC, so w = wire bytes a rank cross at m NICs together:
//             x = max(w/(rate*NVLink), w/(m*0.97*NIC)).
//             all-reduce:  base + 2 min(m-1, 7) hop + 2(R-1) net + x + (ramp + 0.114 n) sqrt(x), or a tree with LL:
//                          base + 2((m-1) hop_ll + log2(R) 5 us) + w/LL cap, whichever is less
//                          with SHARP, NVLS numbers: base + 18 us + x + ramp sqrt(x): no step and no ramp grows with ranks
//             gather, scatter: base + hypot((n-R) hop + (R-1) net, x) + (ramp + 0.114 n) sqrt(x), or a ring with LL, or,
//                          with one member a domain, PAT: base + log2(R) net/3.5 + 2.8 us R + w/(0.75*0.97*NIC)
//             all-to-all:  base + peer*(n-1) + net + y + ramp sqrt(y),
//                          y = max(S(m-1)/n over NVLink, S(n-m)/n at the NIC's all-to-all rate)
//             send:        base + net latency + S/(0.97*NIC)
//             net = 11.2 us of proxy + the route's latency.
// Source:     constants in nccl_constants.hpp; NCCL's latencies for the network steps.
// Fit error:  time of all-reduce against 25 published figures on 1 to 20 racks and 2 to 4 HGX nodes: median 5 %, largest 18
//             % (1440 GPUs, 16 GiB); SHARP, not fitted: 2 % (512 MiB, 8 GiB over 64 H100). Not met within 20 %: one
//             iteration over 256 H100 (all-reduce 25 % too slow, all-gather 24 % too quick; docs/residuals.md).
// Valid when: every member drives its own NIC.
// Ignores:    CollNet without NVLS, SHARP for gather and scatter, NVLS trees (they would make 16 MiB over 32 B200 35 % too
//             quick), other traffic on the NIC.
// Checked by: tests/comm/network_points_test.cpp, tests/comm/collective_laws_test.cpp.
#include "comm/network_collectives.hpp"

#include <algorithm>
#include <cmath>

#include "comm/nvlink_collectives.hpp"

namespace shardfit::comm {
namespace {

bool reduces_in_switch(const AcrossDomains& a) { return a.members >= kNvlsFromRanks && nccl_belief(a.generation).nvls > 0; }

double network_step(const AcrossDomains& a) { return network_step_us(a.network_latency); }

double ll_cap(const AcrossDomains& a) {
  const NcclBelief& belief = nccl_belief(a.generation);
  return a.domains == 2 ? belief.ll_two_nodes : belief.ll_more_nodes;
}

/// Time to stream `wire` bytes a rank over NVLink (if the ring touches it) and over the domain's NICs together.
double stream_us(double wire, double nvlink_rate, const AcrossDomains& a) {
  const double over_nics = wire / (a.members * kNicShare * a.network);
  return a.members == 1 ? over_nics : std::max(over_nics, wire / (nvlink_rate * a.nvlink));
}

/// PAT: gather and scatter in a logarithmic number of steps, which NCCL has for one GPU a node. Its latency and its share of
/// the bandwidth. Source: NCCL 2.30.7 src/graph/tuning.cc. Kind: datasheet; no point measured.
constexpr double kPatStepShare = 1 / 3.5, kPatPerRank = 2.8, kPatRate = 0.75;

double pat_us(double wire, const AcrossDomains& a) {
  return collective_fit(a.generation).ring.base + std::log2(a.ranks) * network_step(a) * kPatStepShare + kPatPerRank * a.ranks +
         wire / (kPatRate * kNicShare * a.network);
}

/// NCCL's latency of NVLS with the network's switches. Source: NCCL 2.30.7 src/graph/tuning.cc. Kind: datasheet. A rank's NIC
/// would carry half of what a ring sends, but the measured rate (387 of 400 GB/s at 8 GiB) is the ring's, so the same bytes
/// stand for it.
constexpr double kNvlsNetworkHop = 18;

double sharp_all_reduce_us(double wire, const AcrossDomains& a) {
  const NvlsFit& nvls = collective_fit(a.generation).nvls;
  const double stream = stream_us(wire, nvls.rate, a);
  return nvls.base + kNvlsNetworkHop + stream + nvls.ramp * std::sqrt(stream);
}

double ramp_us(double ramp, double stream, const AcrossDomains& a) {
  return (ramp + kRampPerRank * a.ranks) * std::sqrt(stream);
}

}  // namespace

double all_reduce_us(double bytes, const AcrossDomains& a) {
  const RingFit& ring = collective_fit(a.generation).ring;
  const NvlsFit& nvls = collective_fit(a.generation).nvls;
  const bool in_switch = reduces_in_switch(a);
  const double wire = 2 * bytes * (a.ranks - 1) / a.ranks;
  if (a.sharp && in_switch) return sharp_all_reduce_us(wire, a);
  const double stream = stream_us(wire, in_switch ? nvls.rate : ring.rate, a);
  const double inside = 2 * std::min(a.members - 1, kStepsBeforeNetwork) * ring.hop_simple;
  const double latency = ring.base + inside + 2 * (a.domains - 1) * network_step(a);
  const double bulk = latency + stream + ramp_us(in_switch ? nvls.ramp : ring.ramp, stream, a);

  const double tree_latency = ring.base + 2 * ((a.members - 1) * ring.hop_ll + std::log2(a.domains) * kLlNetworkHopTree);
  return std::min(bulk, tree_latency + wire / std::min(ll_cap(a), a.members * kNicShare * a.network));
}

double gather_or_scatter_us(double bytes, const AcrossDomains& a) {
  const RingFit& ring = collective_fit(a.generation).ring;
  const double wire = bytes * (a.ranks - 1) / a.ranks;
  const double stream = stream_us(wire, ring.rate, a);
  const double steps_inside = a.ranks - a.domains, steps_across = a.domains - 1;
  const double fill = steps_inside * ring.hop_simple + steps_across * network_step(a);
  const double bulk = ring.base + std::hypot(fill, stream) + ramp_us(ring.ramp, stream, a);
  const double small = ring.base + steps_inside * ring.hop_ll + steps_across * kLlNetworkHopRing +
                       wire / std::min(ll_cap(a), a.members * kNicShare * a.network);
  const double ring_time = std::min(bulk, small);
  return a.members == 1 ? std::min(ring_time, pat_us(wire, a)) : ring_time;
}

double broadcast_us(double bytes, const AcrossDomains& a) {
  const RingFit& ring = collective_fit(a.generation).ring;
  const double stream = stream_us(bytes, ring.rate, a);
  const double fill = (a.ranks - a.domains) * ring.hop_simple + (a.domains - 1) * network_step(a);
  return ring.base + std::hypot(fill, stream) + ramp_us(ring.ramp, stream, a);
}

double all_to_all_us(double bytes, const AcrossDomains& a) {
  const PairwiseFit& fit = collective_fit(a.generation).pairwise;
  const double per_peer = bytes / a.ranks;
  const double inside = per_peer * (a.members - 1) / (fit.rate * a.nvlink) + per_peer / (fit.own_copy * a.nvlink);
  const double across = per_peer * (a.ranks - a.members) / a.network_alltoall;
  const double stream = std::max(inside, across);
  return network_step(a) + stream + pairwise_overhead_us(fit, a.ranks, stream);
}

double send_us(double bytes, const AcrossDomains& a) {
  return collective_fit(a.generation).pairwise.base + network_step(a) + bytes / (kNicShare * a.network);
}

}  // namespace shardfit::comm
