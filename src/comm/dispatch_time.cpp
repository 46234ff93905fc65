// SPDX-License-Identifier: Apache-2.0
// Computes:   time of one dispatch or combine of expert tokens.
// Formula:    links = max(NVLink bytes / (NVLink * dispatch_nvlink), NIC bytes / (NIC for tokens * dispatch_network)),
//             bytes of a rank by sent_bytes. deepep, hybridep: (links^4 + copies^4)^(1/4) + 40 us, copies: what the
//             library's SMs need (expert_library.cpp). alltoall: y = links / alltoall_rate, and NCCL's own overhead of an
//             all-to-all that streams for y: base + peer*(G-1) + ramp*sqrt(y), and a step of the network across domains.
//             allgather: NCCL's all-gather (dispatch) and reduce-scatter (combine) of all tokens of the group.
// Source:     the links' form and its three coefficients come from the joint fit of step times (hardware/step-time.json).
//             NCCL's overhead: nccl_constants.cpp, as of every all-to-all. The libraries' latency: fitted with the SM term
//             to DeepEP's kernels (see expert_library.cpp); HybridEP's few points are all of one size and take the same.
//             The SM term is beside it: with HybridEP at 16 SMs or more it adds at most 4 %.
// Valid when: training sizes (256 tokens a rank and more).
// Ignores:    skew between ranks.
// Checked by: tests/comm/dispatch_test.cpp.
#include <algorithm>
#include <cmath>

#include "comm/expert_library.hpp"
#include "comm/network_collectives.hpp"
#include "comm/nvlink_collectives.hpp"
#include "comm/traffic_time.hpp"

namespace shardfit::comm {
namespace {

/// s. Fitted to 5,600 dispatches and 5,600 combines of DeepEP 1.x with 256 to 131,072 tokens: best 37 and 48 us apart, 41
/// together, where the loss of 40 is 0.1 % more.
constexpr double kLibraryLatency = 40e-6;
constexpr double kUs = 1e-6;

double link_time(const SentBytes& sent, double rate_factor, const GroupLinks& links, const Network& network) {
  const double inside = sent.nvlink / (links.nvlink.value * network.dispatch_nvlink * rate_factor);
  if (sent.network <= 0) return inside;
  const double across = sent.network / (links.dispatch_rate().value * network.dispatch_network * rate_factor);
  return std::max(inside, across);
}

double alltoall_time(const SentBytes& sent, const GroupLinks& links, const Network& network) {
  const double stream = link_time(sent, network.alltoall_rate, links, network);
  const double step = links.domains > 1 ? network_step_us(in_us(links.network_latency)) : 0;
  return stream + kUs * (step + pairwise_overhead_us(collective_fit(network.generation).pairwise, links.size, stream / kUs));
}

/// Links and SMs work at the same time; where both are nearly full they wait for each other: norm 4, of 2 to 10
/// the one with the least loss on the same points.
double together(double a, double b) {
  const double a2 = a * a, b2 = b * b;
  return std::sqrt(std::sqrt(a2 * a2 + b2 * b2));
}

}  // namespace

double dispatch_time(const block::Traffic& traffic, const GroupLinks& links, const Network& network) noexcept {
  if (links.size <= 1) return 0;
  if (network.dispatcher == Dispatcher::allgather) {
    const double whole = traffic.tokens * traffic.width_bytes * links.size;
    const bool gathers = traffic.kind == block::CollectiveKind::dispatch;
    return collective_time(gathers ? block::CollectiveKind::all_gather : block::CollectiveKind::reduce_scatter, whole, links,
                           network);
  }
  const SentBytes sent = sent_bytes(traffic, links, network);
  if (sent.nvlink + sent.network <= 0) return 0;
  if (network.dispatcher == Dispatcher::alltoall) return alltoall_time(sent, links, network);
  const double copies = kUs * copy_time_us(traffic, links, network);
  return together(link_time(sent, 1, links, network), copies) + kLibraryLatency;
}

}  // namespace shardfit::comm
