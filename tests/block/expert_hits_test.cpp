// SPDX-License-Identifier: Apache-2.0
#include "block/expert_hits.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <initializer_list>

using shardfit::block::expected_parts_hit;
using shardfit::block::RoutingLimit;

namespace {

unsigned parts_of(unsigned experts_chosen, int experts, int parts) {
  unsigned hit = 0;
  for (int e = 0; e < experts; ++e)
    if (experts_chosen >> e & 1u) hit |= 1u << (e / (experts / parts));
  return hit;
}

/// Mean number of parts hit over every choice of `top_k` experts of every choice of groups; part = expert / (experts / parts).
double enumerate(int parts, int experts, int top_k, RoutingLimit limit = {1, 1}) {
  double sum = 0, choices = 0;
  for (unsigned groups = 0; groups < (1u << limit.groups); ++groups) {
    if (std::popcount(groups) != limit.chosen) continue;
    for (unsigned chosen = 0; chosen < (1u << experts); ++chosen) {
      if (std::popcount(chosen) != top_k || (parts_of(chosen, experts, limit.groups) & ~groups)) continue;
      sum += std::popcount(parts_of(chosen, experts, parts));
      choices += 1;
    }
  }
  return sum / choices;
}

}  // namespace

TEST_CASE("parts hit equals counting all choices") {
  for (const int parts : {2, 4, 8})
    for (const int top_k : {1, 2, 3, 6}) {
      CAPTURE(parts);
      CAPTURE(top_k);
      CHECK(expected_parts_hit(parts, 16, top_k) == doctest::Approx(enumerate(parts, 16, top_k)));
    }
}

TEST_CASE("group-limited routing equals counting all choices, for parts of several groups and groups of several parts") {
  for (const int parts : {2, 4, 8, 16})
    for (const RoutingLimit limit : {RoutingLimit{4, 1}, {4, 2}, {4, 3}, {8, 4}, {2, 1}})
      for (const int top_k : {1, 2, 4}) {
        if (top_k > 16 * limit.chosen / limit.groups) continue;
        CAPTURE(parts);
        CAPTURE(limit.groups);
        CAPTURE(limit.chosen);
        CAPTURE(top_k);
        CHECK(expected_parts_hit(parts, 16, top_k, limit) == doctest::Approx(enumerate(parts, 16, top_k, limit)));
      }
}

TEST_CASE("one part is always hit; top-1 hits one; hits never pass the picks or the parts; all experts hit all parts") {
  CHECK(expected_parts_hit(1, 128, 8) == 1);
  CHECK(expected_parts_hit(64, 256, 1) == doctest::Approx(1));
  CHECK(expected_parts_hit(8, 8, 3) == doctest::Approx(3));
  CHECK(expected_parts_hit(4, 256, 8) < 4);
  CHECK(expected_parts_hit(8, 8, 8) == doctest::Approx(8));
}

TEST_CASE("without a number of experts the picks are independent") {
  CHECK(expected_parts_hit(8, 0, 2) == doctest::Approx(8 * (1 - 7.0 / 8 * 7 / 8)));
}

TEST_CASE("DeepSeek-V3: 4 of 8 groups, 8 of 256 experts") {
  const RoutingLimit limit{8, 4};
  CHECK(expected_parts_hit(8, 256, 8, limit) == doctest::Approx(expected_parts_hit(4, 128, 8)));  // a group a rank
  CHECK(expected_parts_hit(64, 256, 8, limit) == doctest::Approx(expected_parts_hit(32, 128, 8)));
  CHECK(expected_parts_hit(2, 256, 8, limit) < expected_parts_hit(2, 256, 8));
  CHECK(expected_parts_hit(8, 256, 8, {8, 8}) == expected_parts_hit(8, 256, 8));  // no limit
}
