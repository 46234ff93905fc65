// SPDX-License-Identifier: Apache-2.0
// Measured points carried over: nccl-tests, fp16, out of place, one node; NCCL 2.29.2 (A100 2.27.3), 40 warm-ups and
// 100 repeats. Source: ai-dynamo/aiconfigurator 095f58a (2026-08, Apache-2.0), systems/data/*/nccl.
#include <doctest/doctest.h>

#include <cmath>

#include "sample_links.hpp"

using namespace shardfit;
using block::CollectiveKind;

namespace {

struct Gpu {
  GpuGeneration generation;
  double nvlink;
};
constexpr Gpu kA100{GpuGeneration::ampere, 300};
constexpr Gpu kH100{GpuGeneration::hopper, 450};
constexpr Gpu kBlackwell{GpuGeneration::blackwell, 900};

/// Times in us at 64 KiB, 1, 4, 8, 16, 32, 64, 256 and 512 MiB.
constexpr double kMiBytes[] = {0.0625, 1, 4, 8, 16, 32, 64, 256, 512};
struct Series {
  const char* name;
  Gpu gpu;
  CollectiveKind kind;
  int ranks;
  double us[9];
};

constexpr CollectiveKind kAllReduce = CollectiveKind::all_reduce, kAllGather = CollectiveKind::all_gather,
                         kReduceScatter = CollectiveKind::reduce_scatter, kAllToAll = CollectiveKind::all_to_all;

constexpr Series kSeries[] = {
    {"a100-sxm", kA100, kAllReduce, 2, {12.97, 40.84, 55.78, 87.13, 128.2, 224.2, 391.5, 1430, 2781}},
    {"a100-sxm", kA100, kAllReduce, 8, {28.06, 38.85, 77.31, 128, 216.5, 367, 595.3, 2183, 4226}},
    {"a100-sxm", kA100, kAllGather, 2, {12.52, 19.95, 43.28, 59.72, 93.44, 153.7, 266.3, 939, 1790}},
    {"a100-sxm", kA100, kAllGather, 8, {21.15, 26.79, 47.95, 73.51, 135, 217.6, 351.6, 1217, 2288}},
    {"a100-sxm", kA100, kReduceScatter, 2, {11.75, 19.4, 41.25, 53.1, 82.27, 134.7, 230.3, 826, 1612}},
    {"a100-sxm", kA100, kReduceScatter, 8, {18.04, 23.43, 52.03, 79.49, 123.4, 210, 327.2, 1150, 2207}},
    {"a100-sxm", kA100, kAllToAll, 2, {13.91, 22.79, 38.19, 56.05, 98.31, 136.5, 243, 844.5, 1635}},
    {"a100-sxm", kA100, kAllToAll, 8, {14.22, 25.81, 64.34, 67.84, 114.3, 191.3, 347.6, 1198, 2314}},
    {"h100-sxm", kH100, kAllReduce, 2, {7.29, 14.74, 33.1, 47.3, 82.17, 143.6, 254.6, 881.3, 1686}},
    {"h100-sxm", kH100, kAllReduce, 4, {11.27, 18.12, 42.16, 62.77, 99.01, 175.7, 330.4, 1181, 2300}},
    {"h100-sxm", kH100, kAllReduce, 8, {18.68, 25.4, 50.49, 78.91, 121.9, 199.8, 324.5, 1092, 2111}},
    {"h100-sxm", kH100, kAllGather, 2, {6.37, 11.29, 27.03, 36.27, 56, 92.9, 159.3, 548.5, 1039}},
    {"h100-sxm", kH100, kAllGather, 4, {8.97, 13.58, 36.98, 45.39, 66.21, 109.4, 195.1, 660.7, 1267}},
    {"h100-sxm", kH100, kAllGather, 8, {13.14, 17.13, 33.41, 44.86, 68.86, 125.5, 208.1, 728.8, 1402}},
    {"h100-sxm", kH100, kReduceScatter, 2, {6.28, 10.67, 23.79, 32.41, 53.18, 95.68, 169.1, 585.1, 1078}},
    {"h100-sxm", kH100, kReduceScatter, 4, {8.17, 11.57, 32.88, 38.51, 59.27, 106.3, 194.6, 678.4, 1300}},
    {"h100-sxm", kH100, kReduceScatter, 8, {11.71, 14.64, 29.88, 43.82, 69.67, 111.3, 200.8, 721.7, 1399}},
    {"h100-sxm", kH100, kAllToAll, 2, {11.96, 14.85, 21.16, 31.18, 53.05, 81.24, 139.8, 494.7, 958.9}},
    {"h100-sxm", kH100, kAllToAll, 4, {9.57, 15.56, 24.83, 39.3, 68.93, 110.9, 192.3, 702.3, 1397}},
    {"h100-sxm", kH100, kAllToAll, 8, {8.71, 15.61, 26.2, 41.36, 75.66, 124.9, 221.3, 763.9, 1490}},
    {"b200-sxm", kBlackwell, kAllReduce, 2, {11.35, 14.22, 36.83, 41.51, 53.36, 83.25, 146.7, 521.3, 1005}},
    {"b200-sxm", kBlackwell, kAllReduce, 8, {29.02, 30.14, 53.37, 71.58, 99.07, 167.8, 278.3, 715.4, 1335}},
    {"b200-sxm", kBlackwell, kAllGather, 2, {10.32, 12.7, 23.21, 30.39, 37.47, 54.29, 94.96, 319.8, 612.3}},
    {"b200-sxm", kBlackwell, kAllGather, 8, {19.5, 18.66, 29.23, 44.18, 103.9, 113.8, 137.5, 393.1, 761.4}},
    {"b200-sxm", kBlackwell, kReduceScatter, 2, {9.89, 11.96, 22.02, 28.1, 37.75, 54.58, 99.02, 347.1, 651}},
    {"b200-sxm", kBlackwell, kReduceScatter, 8, {19.94, 20.37, 27.21, 43.64, 96.99, 107.1, 136.2, 396, 766.5}},
    {"b200-sxm", kBlackwell, kAllToAll, 2, {13.57, 16.72, 21.82, 27.87, 49, 63.74, 126.9, 420.8, 810}},
    {"b200-sxm", kBlackwell, kAllToAll, 8, {13.36, 18.77, 26.48, 34.67, 50.09, 88.8, 138.8, 437.7, 834.2}},
    {"gb200", kBlackwell, kAllReduce, 4, {17.2, 19.66, 36.49, 87.93, 100.2, 122.8, 182.4, 662.9, 1282}},
    {"gb200", kBlackwell, kAllGather, 4, {13.26, 15.12, 25.92, 52.57, 59.15, 71.86, 108.3, 370.2, 714.5}},
    {"gb200", kBlackwell, kReduceScatter, 4, {13.03, 14.62, 25.03, 49.22, 55.55, 71.5, 108.2, 383.7, 733.3}},
    {"gb200", kBlackwell, kAllToAll, 4, {13.27, 17.85, 23.09, 31.64, 46.66, 74.23, 124.9, 428, 825.4}},
};

double error_of(const Series& s, int i) {
  const double t = comm::collective_time(s.kind, kMiBytes[i] * kMiB, one_domain(s.ranks, s.gpu.nvlink),
                                         network_of(s.gpu.generation));
  return t * 1e6 / s.us[i] - 1;
}

}  // namespace

TEST_CASE("NCCL points of 1 MB and more: nine of ten within 15 %, none beyond 36 %") {
  int within = 0, all = 0;
  for (const Series& s : kSeries)
    for (int i = 1; i < 9; ++i) {
      CAPTURE(s.name);
      CAPTURE(s.ranks);
      CAPTURE(int(s.kind));
      CAPTURE(kMiBytes[i]);
      const double error = std::abs(error_of(s, i));
      CHECK(error < 0.36);
      within += error < 0.15;
      ++all;
    }
  MESSAGE(within, " of ", all, " within 15 %");
  CHECK(within >= 0.9 * all);
}

TEST_CASE("small messages within 35 %") {
  for (const Series& s : kSeries) {
    CAPTURE(s.name);
    CAPTURE(int(s.kind));
    CHECK(std::abs(error_of(s, 0)) < 0.35);
  }
}

TEST_CASE("the step up where NCCL leaves LL for Simple on 8 B200 is there") {
  // All-gather of 8 and 16 MiB: 44 and 104 us.
  const auto links = one_domain(8, 900);
  const auto network = network_of(GpuGeneration::blackwell);
  const double before = comm::collective_time(CollectiveKind::all_gather, 8.0 * kMiB, links, network);
  const double after = comm::collective_time(CollectiveKind::all_gather, 16.0 * kMiB, links, network);
  CHECK(after > 2 * before);
}
