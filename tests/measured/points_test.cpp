// SPDX-License-Identifier: Apache-2.0
// Measured collectives and expert kernels, carried with their sources (points/README.md), held against the model that step
// times use. Limits are what is promised, or tighter where the model does better.
#include <doctest/doctest.h>

#include <algorithm>

#include "io/load.hpp"
#include "validation/points.hpp"

using namespace shardfit;
using namespace shardfit::validation;

namespace {

PointScores scored(const char* name) {
  PointScores scores;
  score_points(io::load_points(std::string(SHARDFIT_SOURCE_DIR) + "/tests/measured/points/" + name), io::load_point_context(),
               scores);
  return scores;
}

const PointSummary& family(const std::vector<PointSummary>& all, const std::string& name) {
  const auto at = std::find_if(all.begin(), all.end(), [&](const PointSummary& s) { return s.errors.quantity == name; });
  REQUIRE_MESSAGE(at != all.end(), name);
  return *at;
}

}  // namespace

TEST_CASE("nccl-tests in a node: nine of ten within 15 % from 1 MB on, all within 35 % below") {
  const PointScores scores = scored("nccl.csv");
  CHECK(scores.left_out.empty());
  const auto families = summarize_points(scores, &PointScore::family);
  const PointSummary& large = family(families, "collectives in a domain, 1 MB and more");
  CHECK(large.errors.rows > 700);
  CHECK(large.within_15 >= 0.93);
  CHECK(large.within_35 >= 0.98);
  CHECK(large.errors.median_abs_error < 0.045);
  CHECK(family(families, "collectives in a domain, below 1 MB").within_35 >= 0.99);
}

TEST_CASE("no GPU type and no collective is far off") {
  for (const PointSummary& s : summarize_points(scored("nccl.csv"), &PointScore::group)) {
    CAPTURE(s.errors.quantity);
    CHECK(s.errors.median_abs_error < 0.25);
  }
}

TEST_CASE("published figures of racks and of several nodes: 24 of 26 within 20 %") {
  const auto families = summarize_points(scored("nccl_large.csv"), &PointScore::family);
  CHECK(family(families, "collectives across NVLink domains").within_20 >= 0.92);
  CHECK(family(families, "collectives in a domain, 1 MB and more").within_20 >= 0.9);
}

TEST_CASE("expert libraries: the median of each library, mode and rank count is within 20 %") {
  const PointScores scores = scored("expert_dispatch.csv");
  CHECK(scores.left_out.empty());
  int families = 0;
  for (const PointSummary& s : summarize_points(scores, &PointScore::family)) {
    CAPTURE(s.errors.quantity);
    CHECK(s.errors.median_abs_error < 0.2);
    ++families;
  }
  CHECK(families >= 16);
}
