// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <random>
#include <string>
#include <vector>

#include "io/load.hpp"

// Random small corners of the spaces that ship.

namespace shardfit::oracle {

inline constexpr const char* kScenarios[] = {"qwen3-vl-235b-gb200.json",   "qwen3-vl-235b-b200.json",
                                             "qwen3.5-35b-a3b-gb200.json", "qwen3-235b-gb200.json",
                                             "deepseek-v3-gb200.json",     "llama-3-70b-gb200.json"};

using Random = std::mt19937_64;

/// At most `most` values of an axis, in their order.
template <class T>
void thin(std::vector<T>& axis, std::size_t most, Random& random) {
  while (axis.size() > most) axis.erase(axis.begin() + std::ptrdiff_t(random() % axis.size()));
}

/// A corner of a scenario's space with axes opened that the scenario leaves closed, up to some ten thousand combinations.
inline Scenario corner(const std::string& file, unsigned seed) {
  Scenario scenario = io::load_scenario(std::string(SHARDFIT_SOURCE_DIR) + "/scenarios/" + file);
  SearchSpace& s = scenario.space;
  Random random(seed);
  // Sizes that leave room for one another come first; large ones only now and then.
  for (std::vector<int>* sizes : {&s.tp, &s.cp, &s.pp, &s.ep, &s.etp})
    if (sizes->size() > 4 && random() % 3 != 0) sizes->resize(4);
  s.sharding = {Sharding::none, Sharding::optimizer, Sharding::optimizer_grads, Sharding::full};
  s.optimizer_instances = {1, 2};
  s.cp_comm_type = {CpCommType::p2p, CpCommType::a2a, CpCommType::all_gather};
  s.optimizer_offload = {0, 0.5};
  for (std::vector<int>* sizes : {&s.tp, &s.cp, &s.pp, &s.vpp, &s.ep, &s.micro_batch_size}) thin(*sizes, 2, random);
  thin(s.etp, 1 + random() % 2, random);
  thin(s.split, 3, random);
  thin(s.recompute, 4, random);
  thin(s.cuda_graph, 3, random);
  thin(s.dispatcher, 2, random);
  thin(s.sharding, 2, random);
  thin(s.optimizer_instances, 1 + random() % 2, random);
  thin(s.cp_comm_type, 1 + random() % 2, random);
  thin(s.optimizer_offload, 1, random);
  scenario.base.overlap.delay_wgrad = random() % 2 != 0;
  return scenario;
}

}  // namespace shardfit::oracle
