// SPDX-License-Identifier: Apache-2.0
// Computes:   time of one dispatch or combine of expert tokens.
// Formula:    max(NVLink bytes / (NVLink * dispatch_nvlink), NIC bytes / (NIC all-to-all * dispatch_network)) + latency;
//             bytes of a rank by sent_bytes. alltoall: both rates times alltoall_rate, latency 30 us + 20 us log2 G;
//             deepep, hybridep: latency 40 us. allgather: NCCL's all-gather (dispatch) and reduce-scatter (combine) of
//             all tokens of the group.
// Source:     the form and its three coefficients come from the joint fit of step times (hardware/step-time.json); the
//             latencies were held fixed there (kind assumed).
// Valid when: training sizes (1,000 tokens a rank and more).
// Ignores:    the number of SMs (below about 16 the libraries slow down), skew between ranks.
// Checked by: tests/comm/dispatch_test.cpp.
#include <algorithm>
#include <cmath>

#include "comm/traffic_time.hpp"

namespace shardfit::comm {
namespace {

constexpr double kLibraryLatency = 40e-6;        // s, assumed in the step-time fit
constexpr double kAlltoallLatency = 30e-6;       // s, the same
constexpr double kAlltoallLatencyPerDoubling = 20e-6;

double library_time(const SentBytes& sent, double rate_factor, const GroupLinks& links, const Network& network) {
  const double inside = sent.nvlink / (links.nvlink.value * network.dispatch_nvlink * rate_factor);
  if (sent.network <= 0) return inside;
  const double across = sent.network / (links.network_alltoall.value * network.dispatch_network * rate_factor);
  return std::max(inside, across);
}

}  // namespace

double dispatch_time(const block::Traffic& traffic, const GroupLinks& links, const Network& network) noexcept {
  if (links.size <= 1) return 0;
  if (network.dispatcher == Dispatcher::allgather) {
    const double whole = traffic.tokens * traffic.width_bytes * links.size;
    const bool gathers = traffic.kind == block::CollectiveKind::dispatch;
    return collective_time(gathers ? block::CollectiveKind::all_gather : block::CollectiveKind::reduce_scatter, whole,
                           links, network);
  }
  const SentBytes sent = sent_bytes(traffic, links, network);
  if (sent.nvlink + sent.network <= 0) return 0;
  if (network.dispatcher != Dispatcher::alltoall) return library_time(sent, 1, links, network) + kLibraryLatency;
  return library_time(sent, network.alltoall_rate, links, network) + kAlltoallLatency +
         kAlltoallLatencyPerDoubling * std::log2(std::max(2, links.size));
}

}  // namespace shardfit::comm
