// SPDX-License-Identifier: Apache-2.0
// Computes:   the SM-bound time of DeepEP's and HybridEP's dispatch and combine.
// Formula:    T * (token + (rank hits + copies * domains hit) * w / rate) / SMs; rank hits include the rank's own; the
//             domain part only where the group crosses domains.
// Source:     DeepEP: ai-dynamo/aiconfigurator tables of DeepEP 1.x normal mode (2026-07), 1,024 to 32,768 tokens a
//             rank, 4 to 24 SMs: H100, H200, B200, B300 x 8, GB200, GB300 x 4, H100 x 16 and x 32 (8 nodes look
//             congested: left out); 2,850 points each way, fitted with the links' rates as the step-time fit has
//             them. Kind fitted. HybridEP: three H100 points at 4 SMs of DeepEP hybrid-ep docs (2026-07). Kind
//             fitted, weak. DeepEP 2 takes HybridEP's: not fitted; its README's ten figures (8 to 32 ranks, 6 to 64
//             SMs, 2026-07) are met within 10 %. Shares of the links: HybridEP with 32 SMs on 8 to 36 GB200 and with 16
//             SMs on 32 and 64 H100 (the same docs), without the latency of dispatch_time.cpp. Kind fitted, five and six
//             points.
// Fit error:  DeepEP median 8.6 % dispatch, 8.9 % combine, p90 22 and 20 %; median of each system and rank count within 11
//             %. HybridEP's kernels with these shares: median 3 to 11 % by rank count (8 to 64 ranks, 60 points; worst fp8
//             dispatch with 16 SMs over 24 to 36 ranks, -42 to -56 %), DeepEP 2 7 to 12 %. One set for all generations: the
//             rate of an SM hardly changes from Hopper to Blackwell.
// Valid when: the SMs are the library's alone.
// Ignores:    low-latency kernels; the clock.
// Checked by: tests/comm/dispatch_test.cpp.
#include "comm/expert_library.hpp"

#include "comm/expert_volume.hpp"

namespace shardfit::comm {
namespace {

constexpr CopyCost kDeepEpDispatch{0.545, 22.7, 1.81};
constexpr CopyCost kDeepEpCombine{0.936, 27.7, 4.52};
constexpr CopyCost kBulkCopies{0, 90, 4.8};  // HybridEP, DeepEP 2: the copy engine of the SM moves whole rows
constexpr CopyCost kNone{};

// Defaults of Megatron-Core's moe_deepep_num_sms and moe_hybridep_num_sms (core/transformer/transformer_config.py).
constexpr int kDeepEpSms = 20, kHybridEpSms = 16;
constexpr double kGbPerS = 1e3;  // in bytes/us

}  // namespace

const CopyCost& copy_cost(const Network& network, bool dispatch) noexcept {
  if (network.dispatcher == Dispatcher::hybridep) return kBulkCopies;
  if (network.dispatcher == Dispatcher::deepep && network.deepep_version >= 2) return kBulkCopies;
  if (network.dispatcher == Dispatcher::deepep) return dispatch ? kDeepEpDispatch : kDeepEpCombine;
  return kNone;
}

double kernel_nvlink_share(int ranks) noexcept { return 0.85 / (1 + 0.0047 * ranks); }

int sms_taken(const Network& network) noexcept {
  if (network.dispatcher == Dispatcher::deepep) return network.dispatcher_sms > 0 ? network.dispatcher_sms : kDeepEpSms;
  if (network.dispatcher == Dispatcher::hybridep) return network.dispatcher_sms > 0 ? network.dispatcher_sms : kHybridEpSms;
  return 0;
}

double copy_time_us(const block::Traffic& t, const GroupLinks& links, const Network& network) noexcept {
  const CopyCost& cost = copy_cost(network, t.kind == block::CollectiveKind::dispatch);
  if (cost.sm_gb_per_s <= 0) return 0;
  double copies = expected_ranks_hit(t, links);
  if (links.domains > 1) copies += cost.copies_per_domain * expected_domains_hit(t, links);
  return t.tokens * (cost.token_us + copies * t.width_bytes / (cost.sm_gb_per_s * kGbPerS)) / sms_taken(network);
}

}  // namespace shardfit::comm
