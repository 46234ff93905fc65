// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "comm/expert_volume.hpp"

using namespace shardfit;

namespace {

topology::GroupLinks links_of(int size, int domains) {
  topology::GroupLinks links;
  links.size = size;
  links.domains = domains;
  links.members_per_domain = size / domains;
  return links;
}

block::Traffic tokens(int top_k, int experts, int replicas) {
  block::Traffic t;
  t.top_k = top_k;
  t.num_experts = experts;
  t.replicas = replicas;
  return t;
}

}  // namespace

TEST_CASE("ranks and domains hit are those of the experts' parts") {
  const block::Traffic t = tokens(8, 256, 1);
  CHECK(comm::expected_ranks_hit(t, links_of(64, 1)) == block::expected_parts_hit(64, 256, 8));
  CHECK(comm::expected_domains_hit(t, links_of(64, 8)) == block::expected_parts_hit(8, 256, 8));
  CHECK(comm::expected_domains_hit(t, links_of(64, 1)) == 1);
}

TEST_CASE("all etp ranks of an expert get the token: once each, in the domains that they span") {
  const block::Traffic t = tokens(2, 16, 4);
  CHECK(comm::expected_ranks_hit(t, links_of(32, 1)) == doctest::Approx(4 * block::expected_parts_hit(8, 16, 2)));
  CHECK(comm::expected_domains_hit(t, links_of(32, 4)) ==
        doctest::Approx(block::expected_parts_hit(4, 16, 2)));  // 8 ranks a domain
  CHECK(comm::expected_domains_hit(t, links_of(32, 16)) == doctest::Approx(2 * block::expected_parts_hit(8, 16, 2)));  // 2
}
