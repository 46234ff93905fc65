// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <bit>

#include "comm/expert_volume.hpp"

using namespace shardfit;

namespace {

/// Mean number of parts hit over every choice of `top_k` of `experts`, part = expert / (experts / parts).
double enumerate(int parts, int experts, int top_k) {
  double sum = 0, choices = 0;
  for (unsigned chosen = 0; chosen < (1u << experts); ++chosen) {
    if (std::popcount(chosen) != top_k) continue;
    unsigned hit = 0;
    for (int e = 0; e < experts; ++e)
      if (chosen >> e & 1u) hit |= 1u << (e / (experts / parts));
    sum += std::popcount(hit);
    choices += 1;
  }
  return sum / choices;
}

}  // namespace

TEST_CASE("parts hit equals counting all choices") {
  for (const int parts : {2, 4, 8})
    for (const int top_k : {1, 2, 3, 6}) {
      CAPTURE(parts);
      CAPTURE(top_k);
      CHECK(comm::expected_parts_hit(parts, 16, top_k) == doctest::Approx(enumerate(parts, 16, top_k)));
    }
}

TEST_CASE("one part is always hit; top-1 hits one; hits never pass the picks or the parts") {
  CHECK(comm::expected_parts_hit(1, 128, 8) == 1);
  CHECK(comm::expected_parts_hit(64, 256, 1) == doctest::Approx(1));
  CHECK(comm::expected_parts_hit(8, 8, 3) == doctest::Approx(3));
  CHECK(comm::expected_parts_hit(4, 256, 8) < 4);
}

TEST_CASE("without a number of experts the picks are independent") {
  CHECK(comm::expected_parts_hit(8, 0, 2) == doctest::Approx(8 * (1 - 7.0 / 8 * 7 / 8)));
}

TEST_CASE("group-limited routing bounds the domains: DeepSeek-V3, 4 of 8 groups") {
  block::Traffic t;
  t.top_k = 8;
  t.num_experts = 256;
  t.num_groups = 8;
  t.groups_chosen = 4;
  CHECK(comm::expected_domains_hit(8, t) == doctest::Approx(4));   // a group a domain
  CHECK(comm::expected_domains_hit(16, t) ==
        doctest::Approx(comm::expected_parts_hit(16, 256, 8)));  // bound 8 is not met
  // Two domains of four groups each: missed if all 4 groups fall in the other: 1/C(8,4).
  CHECK(comm::expected_domains_hit(2, t) == doctest::Approx(2 * (1 - 1.0 / 70)).epsilon(0.02));
  CHECK(comm::expected_domains_hit(1, t) == 1);
  t.groups_chosen = 0;
  CHECK(comm::expected_domains_hit(8, t) > 5);
}
