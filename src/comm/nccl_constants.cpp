// SPDX-License-Identifier: Apache-2.0
// Computes:   nothing; the constants of NCCL's choice and of its kernels by GPU generation.
// Source:     belief: NCCL 2.30.7 src/graph/tuning.cc (2026-06), kind datasheet. Fits: nccl-tests tables of
//             ai-dynamo/aiconfigurator (2026-08; NCCL 2.29.2, A100 2.27.3), one node, 2-8 GPUs, 512 B to 512 MB, fp16 and
//             int8; H100 up to 8 GB from SimuMax; B200 and one GB200 rack up to 8 GB from ml-engineering and CoreWeave.
//             Kind fitted (soft L1 on the log of the ratio; sizes below 1 MB weigh 0.4).
// Fit error:  of points >= 1 MB: median / p90 / share within 15 %; then share of smaller ones within 35 %.
//             ring:     A100 4.1 / 13.8 / 93 %; 100 %
//                       Hopper 3.2 / 12.4 / 95 %; 100 %
//                       Blackwell 3.6 / 9.9 / 97 %; 100 %
//             NVLS:     Hopper 5.7 / 14.5 / 89 %; 98 %
//                       Blackwell 4.5 / 12 / 94 %; 100 %
//             pairwise: A100 2.1 / 10.3 / 97 %; 100 %
//                       Hopper 3.1 / 8.7 / 100 %; 96 %
//                       Blackwell 3.3 / 10.3 / 97 %; 99 %
//             All 1,548 points >= 1 MB: 3.4 / 10.8 / 96 %; 1,672 smaller: 99 %. One GPU type left out: 91-100 % of its
//             points within 25 %; sizes >= 128 MB left out: 95-100 % (tests/calibrate/collective_leave_out_test.cpp).
// Ignores:    NCCL releases: 2.28.9 took LL128 for longer on B200 (up to 2x at 16 MB all-gather of 8).
#include "comm/nccl_constants.hpp"

namespace shardfit::comm {
namespace {

constexpr double kPerUs = 1e3;  // GB/s in bytes/us

// Links: 12 of 20 GB/s (capped at 235 in all), 18 of 20.6, 18 of 40.1. LL128: 0.92 of the ring; on Blackwell 2.29
// goes from LL to Simple at once. NVLS: efficiency 0.85 and 0.74 of the ring rate.
constexpr EnumArray<GpuGeneration, NcclBelief> kBelief{{{
    {235 * kPerUs, 87.7 * kPerUs, 0.92 * 235 * kPerUs, 0, 22.5 * kPerUs, 19 * kPerUs},
    {18 * 20.6 * kPerUs, 141 * kPerUs, 0.92 * 18 * 20.6 * kPerUs, 0.85 * 18 * 20.6 * kPerUs, 45 * kPerUs, 35 * kPerUs},
    {18 * 40.1 * kPerUs, 282 * kPerUs, 0, 0.74 * 18 * 40.1 * kPerUs, 90 * kPerUs, 70 * kPerUs},
}}};

// NVLS rates are above 1 because a rank's link carries S + S/n for an all-reduce that counts as 2S(n-1)/n.
constexpr EnumArray<GpuGeneration, CollectiveFit> kFit{{{
    {.ring = {9.65, 0.958, 9.80, 0.810, 2.32, 4.49},
     .nvls = {0, 1, 0},  // Ampere has none
     .pairwise = {10.8, 0.309, 0.799, 3.26, 4.97}},
    {.ring = {5.13, 0.823, 5.69, 0.895, 1.76, 2.76}, .nvls = {12.7, 1.100, 5.28}, .pairwise = {7.41, 0.136, 0.775, 8.59, 2.86}},
    {.ring = {9.03, 1.030, 11.4, 0.834, 1.16, 1.09},
     .nvls = {12.3, 1.065, 10.1},
     .pairwise = {10.4, 0.287, 0.801, 0.983, 2.90}},
}}};

// The promise: at most six fitted numbers an algorithm and kind of link.
static_assert(sizeof(RingFit) == 6 * sizeof(double) && sizeof(NvlsFit) == 3 * sizeof(double) &&
              sizeof(PairwiseFit) == 5 * sizeof(double));

}  // namespace

const NcclBelief& nccl_belief(GpuGeneration generation) { return kBelief[generation]; }
const CollectiveFit& collective_fit(GpuGeneration generation) { return kFit[generation]; }

}  // namespace shardfit::comm
