// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <random>
#include <string>
#include <vector>

#include "io/load.hpp"
#include "shardfit/layout/job_facts.hpp"
#include "shardfit/search/sweep.hpp"

namespace shardfit::bench {

inline Scenario scenario(const std::string& name) {
  return io::load_scenario(std::string(SHARDFIT_SOURCE_DIR) + "/scenarios/" + name + ".json");
}

/// A part of the flagship's space small enough for brute force: tp 2 and 4, cp 1, micro-batch 1, two dispatchers.
inline Scenario flagship_corner() {
  Scenario s = scenario("qwen3-vl-235b-gb200");
  s.space.tp = {2, 4};
  s.space.cp = {1};
  s.space.etp = {1};
  s.space.micro_batch_size = {1};
  s.space.dispatcher = {Dispatcher::alltoall, Dispatcher::hybridep};
  return s;
}

/// The layouts that the rules allow, in the order of the space: what a sweep evaluates one after the other.
inline std::vector<Layout> allowed_layouts(const Scenario& s, std::size_t most) {
  const JobFacts facts = job_facts(s.job);
  std::vector<Layout> found;
  // Where they lie is not known, so look on from random places; runs of neighbours stay together.
  constexpr std::uint64_t kRun = 20'000;
  std::mt19937_64 random(1);
  const std::uint64_t size = space_size(s.space);
  for (int start = 0; start < 400 && found.size() < most; ++start) {
    const std::uint64_t first = random() % size;
    for (std::uint64_t index = first; index < size && index < first + kRun && found.size() < most; ++index)
      if (Layout layout = layout_at(s, index); !first_violation(facts, layout)) found.push_back(std::move(layout));
  }
  return found;
}

}  // namespace shardfit::bench
