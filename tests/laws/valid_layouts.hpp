// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <random>

#include "shardfit/search/sweep.hpp"

namespace shardfit::test {

/// A few valid layouts of a scenario's space, drawn without favour: the first valid ones from random starting points.
inline std::vector<Layout> valid_layouts(const Scenario& scenario, int wanted, std::uint64_t seed = 7) {
  std::mt19937_64 random(seed);
  std::vector<Layout> found;
  const std::uint64_t size = space_size(scenario.space);
  for (int tries = 0; tries < 2'000'000 && int(found.size()) < wanted; ++tries) {
    const Layout layout = layout_at(scenario, random() % size);
    if (!first_violation(scenario.job, layout)) found.push_back(layout);
  }
  REQUIRE(int(found.size()) == wanted);
  return found;
}

}  // namespace shardfit::test
