// SPDX-License-Identifier: Apache-2.0
#include "validation/points.hpp"

#include <doctest/doctest.h>

#include "comm/traffic_time.hpp"
#include "shardfit/base/error.hpp"

using namespace shardfit;
using namespace shardfit::validation;

namespace {

PointContext context() {
  HardwareSpec h;
  h.name = "h100-hgx";
  h.gpu.generation = GpuGeneration::hopper;
  h.gpu.hbm_tb_per_s.value = 3.35;
  h.fabric.nvlink_gb_per_s.value = 450;
  h.fabric.nvlink_latency_us.value = 1.7;
  h.fabric.nic_gb_per_s.value = h.fabric.nic_alltoall_gb_per_s.value = 50;
  h.fabric.nic_latency_us.value = 5.1;
  h.fabric.oversubscription.value = 1;
  PointContext c;
  c.hardware.emplace(h.name, h);
  for (FittedValue& v : c.time.values) v.value = 0.8;
  return c;
}

PointTable table(std::vector<std::string> columns, std::vector<std::vector<std::string>> lines) {
  PointTable t{.file = "points.csv", .columns = std::move(columns), .lines = {}};
  for (auto& cells : lines) t.lines.push_back({int(t.lines.size()) + 2, std::move(cells)});
  return t;
}

PointScores scores_of(const PointTable& t) {
  PointScores scores;
  score_points(t, context(), scores);
  return scores;
}

const std::vector<std::string> kNccl = {"system", "op", "gpus", "bytes", "time_us", "busbw_gbps"};

}  // namespace

TEST_CASE("a collective's point is the model's time on its links") {
  const PointScores s = scores_of(table(kNccl, {{"h100-sxm", "all_reduce", "8", "16777216", "120", ""}}));
  REQUIRE(s.scores.size() == 1);
  topology::GroupLinks links;
  links.size = links.members_per_domain = 8;
  links.nvlink = gb_per_s(450);
  comm::Network network;
  CHECK(s.scores[0].measured_us == 120);
  CHECK(s.scores[0].predicted_us ==
        doctest::Approx(1e6 * comm::collective_time(block::CollectiveKind::all_reduce, 16777216, links, network)));
  CHECK(s.scores[0].family == "collectives in a domain, 1 MB and more");
}

TEST_CASE("bus bandwidth is turned into time as nccl-tests counts it") {
  const PointScores s = scores_of(table(kNccl, {{"h100-sxm", "all_reduce", "16", "1000000000", "", "400"},
                                                {"h100-sxm", "alltoall", "16", "1000000000", "", "50"}}));
  REQUIRE(s.scores.size() == 2);
  CHECK(s.scores[0].measured_us == doctest::Approx(2 * 15 / 16.0 * 1e9 / 400e3));
  CHECK(s.scores[1].measured_us == doctest::Approx(15 / 16.0 * 1e9 / 50e3));
  CHECK(s.scores[0].family == "collectives across NVLink domains");
}

TEST_CASE("bandwidth of an expert library counts a token once a rank that gets it, its own included") {
  const PointScores s = scores_of(
      table({"system", "library", "mode", "ranks", "tokens_per_rank", "hidden", "topk", "experts", "sms", "dispatch_dtype",
             "dispatch_gbps", "combine_gbps"},
            {{"h100-sxm", "HybridEP", "kernel_only", "8", "4096", "7168", "1", "8", "16", "bf16", "300", ""},
             {"h100-sxm", "DeepEP-1.2.1", "low_latency", "8", "128", "7168", "8", "256", "", "fp8", "77", ""}}));
  REQUIRE(s.scores.size() == 1);
  CHECK(s.scores[0].measured_us == doctest::Approx(4096 * 7168 * 2 / 300e3));  // top 1: one rank a token
  CHECK(s.left_out.at("low-latency kernels serve inference") == 1);
}

TEST_CASE("what has no prediction is counted by its reason") {
  const PointScores s = scores_of(
      table(kNccl, {{"mi300x", "all_reduce", "8", "1024", "10", ""}, {"h100-sxm", "scatter", "8", "1024", "10", ""}}));
  CHECK(s.scores.empty());
  CHECK(s.left_out.at("no cluster for mi300x") == 1);
  CHECK(s.left_out.at("no formula for scatter") == 1);
}

TEST_CASE("a table of no kind and a cell that is no number are refused") {
  CHECK_THROWS_AS(scores_of(table({"a", "b"}, {{"1", "2"}})), InputError);
  CHECK_THROWS_AS(scores_of(table(kNccl, {{"h100-sxm", "all_reduce", "8", "much", "120", ""}})), InputError);
}

TEST_CASE("shares within a limit count points") {
  PointScores s;
  for (const double predicted : {1.0, 1.1, 1.18, 1.3}) s.scores.push_back({"f", "g", "", 1, predicted});
  const auto all = summarize_points(s, &PointScore::family);
  REQUIRE(all.size() == 1);
  CHECK(all[0].within_15 == 0.5);
  CHECK(all[0].within_20 == 0.75);
  CHECK(all[0].within_35 == 1);
  CHECK(all[0].errors.rows == 4);
}
