// SPDX-License-Identifier: Apache-2.0
// Computes:   time of NCCL collectives among GPUs of one NVLink domain.
// Formula:    w = wire bytes a rank: passes*S*(n-1)/n; x = w/(rate*NVLink) + (S/n)/(own_copy*NVLink): streaming time.
//             LL:     base + steps*hop_ll + w/LL cap
//             LL128:  base + steps*hop_ll*3.2 + x/0.92
//             Simple: base + hypot(steps*hop_simple, x) + (ramp + 0.114 n) sqrt(x)
//             NVLS:   base + w/(rate*NVLink) + (ramp + 0.114 n) sqrt(w/(rate*NVLink))
//             pairs:  base + peer*(n-1) + x + ramp*sqrt(x)
//             steps = passes*(n-1). Filling the ring and streaming through it overlap, hence the hypotenuse; the
//             root is what a pipeline costs whose chunks grow with the message. Of the first four, the one that
//             NCCL would take: least latency + w/rate by its own constants.
// Source:     constants: nccl_constants.cpp. Structure of the choice: NCCL tuning.cc.
// Valid when: one job on the links; 2 to 8 ranks measured, 64 and 72 for all-reduce; others extrapolated.
// Ignores:    NCCL_ALGO settings, user buffers, symmetric-memory kernels, trees inside a node.
// Checked by: tests/comm/nccl_points_test.cpp.
#include "comm/nvlink_collectives.hpp"

#include <algorithm>
#include <cmath>

namespace shardfit::comm {
namespace {

const CollectiveFit& fit_of(const InDomain& in) { return in.fit ? *in.fit : collective_fit(in.generation); }

struct RingWork {
  double wire = 0;  ///< bytes that a rank sends
  double own = 0;   ///< bytes that it copies for itself
  double steps = 0;
};

/// NCCL's own estimate of a protocol.
double believed(Protocol protocol, double rate, const RingWork& work) {
  const ProtocolLatency& l = kRingBelief[protocol];
  return l.base + l.hop * work.steps + work.wire / rate;
}

struct Choice {
  Protocol protocol = Protocol::ll;
  double believed = 0;
};

Choice choose_protocol(const RingWork& work, const NcclBelief& belief) {
  Choice best{Protocol::ll, believed(Protocol::ll, belief.ll, work)};
  const double simple = believed(Protocol::simple, belief.ring, work);
  if (simple < best.believed) best = {Protocol::simple, simple};
  if (belief.ll128 > 0) {
    const double ll128 = believed(Protocol::ll128, belief.ll128, work);
    if (ll128 < best.believed) best = {Protocol::ll128, ll128};
  }
  return best;
}

double ring_us(Protocol protocol, const RingWork& work, const InDomain& in) {
  const RingFit& fit = fit_of(in).ring;
  const double stream = work.wire / (fit.rate * in.nvlink) + work.own / (fit.own_copy * in.nvlink);
  switch (protocol) {
    case Protocol::ll: return fit.base + work.steps * fit.hop_ll + work.wire / nccl_belief(in.generation).ll;
    case Protocol::ll128: return fit.base + work.steps * fit.hop_ll * kLl128OverLlHop + stream / kLl128Share;
    default: break;
  }
  const double ramp = fit.ramp + kRampPerRank * in.ranks;
  return fit.base + std::hypot(work.steps * fit.hop_simple, stream) + ramp * std::sqrt(stream);
}

/// NCCL hands over from LL a little late, so that the fitted times fall there by up to 13 %. No message is slower
/// than a larger one: up to the handover the next protocol's time counts where it is less. LL128 follows LL only
/// where NCCL gives it less latency than Simple.
double low_latency_us(const RingWork& work, const InDomain& in) {
  const double ll = ring_us(Protocol::ll, work, in);
  const ProtocolLatency &l = kRingBelief[Protocol::ll128], &s = kRingBelief[Protocol::simple];
  const bool ll128_follows = nccl_belief(in.generation).ll128 > 0 && l.base + l.hop * work.steps < s.base + s.hop * work.steps;
  return ll128_follows ? std::min(ll, ring_us(Protocol::ll128, work, in)) : ll;
}

double ring_us(const Choice& choice, const RingWork& work, const InDomain& in) {
  return choice.protocol == Protocol::ll ? low_latency_us(work, in) : ring_us(choice.protocol, work, in);
}

double nvls_us(double wire, const InDomain& in) {
  const NvlsFit& fit = fit_of(in).nvls;
  const double stream = wire / (fit.rate * in.nvlink);
  return fit.base + stream + (fit.ramp + kRampPerRank * in.ranks) * std::sqrt(stream);
}

/// Wire bytes from which NCCL holds NVLS for quicker than LL.
double nvls_handover(const RingWork& work, const NcclBelief& belief) {
  const ProtocolLatency& ll = kRingBelief[Protocol::ll];
  return std::max(0.0, (kNvlsBeliefLatency - ll.base - ll.hop * work.steps) / (1 / belief.ll - 1 / belief.nvls));
}

}  // namespace

double ring_collective_us(double bytes, int passes, const InDomain& in) {
  const double n = in.ranks;
  const RingWork work{passes * bytes * (n - 1) / n, bytes / n, passes * (n - 1)};
  const NcclBelief& belief = nccl_belief(in.generation);
  const Choice ring = choose_protocol(work, belief);
  const bool reduces_in_switch = passes == 2 ? in.ranks >= kNvlsFromRanks : in.ranks > kRingOnlyGatherRanks;
  if (reduces_in_switch && belief.nvls > 0) {
    const double believed_nvls = kNvlsBeliefLatency + work.wire / belief.nvls;
    // Where the tables show NVLS for all-reduce it displaces both of the ring's bandwidth protocols.
    const double rival = passes == 2 ? believed(Protocol::ll, belief.ll, work) : ring.believed;
    if (believed_nvls < rival) return nvls_us(work.wire, in);
    if (passes == 2) return std::min(ring_us(Protocol::ll, work, in), nvls_us(nvls_handover(work, belief), in));
  }
  return ring_us(ring, work, in);
}

double broadcast_us(double bytes, const InDomain& in) {
  const RingWork work{bytes, 0, double(in.ranks - 1)};
  return ring_us(choose_protocol(work, nccl_belief(in.generation)), work, in);
}

double pairwise_overhead_us(const PairwiseFit& fit, double ranks, double stream_us) {
  return fit.base + fit.peer * (ranks - 1) + fit.ramp * std::sqrt(stream_us);
}

double all_to_all_us(double bytes, const InDomain& in) {
  const PairwiseFit& fit = fit_of(in).pairwise;
  const double n = in.ranks;
  const double stream = bytes * (n - 1) / n / (fit.rate * in.nvlink) + bytes / n / (fit.own_copy * in.nvlink);
  return stream + pairwise_overhead_us(fit, n, stream);
}

double send_us(double bytes, const InDomain& in) {
  const PairwiseFit& fit = fit_of(in).pairwise;
  const double stream = bytes / (fit.rate * in.nvlink);
  return fit.base + stream + fit.ramp * std::sqrt(stream);
}

}  // namespace shardfit::comm
