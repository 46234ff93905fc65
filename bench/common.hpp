// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <random>
#include <string>
#include <vector>

#include "io/load.hpp"
#include "io/load_study.hpp"
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

/// A part of the flagship's space with some hundred thousand layouts, for sweeps that keep all their numbers.
inline Scenario flagship_part() {
  Scenario s = scenario("qwen3-vl-235b-gb200");
  s.space.tp = {2, 4};
  s.space.cp = {1, 2};
  s.space.ep = {1, 8, 16};
  s.space.micro_batch_size = {1, 2};
  return s;
}

/// Parts of the spaces that ship with some hundred thousand layouts each, deep pipelines among them.
inline Scenario part_of(const std::string& name) {
  if (name == "qwen3-vl-235b-gb200") return flagship_part();
  Scenario s = scenario(name);
  if (name != "deepseek-v3-gb200") return s;
  s.space.tp = {1, 2};
  s.space.cp = {1};
  s.space.ep = {16, 64};
  s.space.etp = {1};
  s.space.micro_batch_size = {1, 2};
  s.space.dispatcher = {Dispatcher::alltoall, Dispatcher::hybridep};
  return s;
}

/// The flagship with steps of the optimizer's offload open, too: 17 billion combinations, 22.6 million layouts.
inline Scenario flagship_wide() {
  Scenario s = scenario("qwen3-vl-235b-gb200");
  s.space.optimizer_offload = {0, 0.5, 1};
  return s;
}

/// The flagship on more GPUs, with the batch that keeps the work of each.
inline Scenario flagship_on(int gpus) {
  constexpr int kSamplesPerGpu = 16;
  io::JobChoice choice;
  choice.gpus = {gpus};
  choice.set = {"training.global_batch_size=" + std::to_string(kSamplesPerGpu * gpus)};
  return io::load_study(std::string(SHARDFIT_SOURCE_DIR) + "/scenarios/qwen3-vl-235b-gb200.json", choice).scenarios.at(0);
}

/// The flagship with the first `open` of its open axes, most telling first; the others at their first value.
inline Scenario flagship_open(int open) {
  Scenario scenario_ = scenario("qwen3-vl-235b-gb200");
  SearchSpace& s = scenario_.space;
  int axis = 0;
  const auto close = [&](auto& values) {
    if (axis++ >= open && values.size() > 1) values.erase(values.begin() + 1, values.end());
  };
  close(s.tp), close(s.pp), close(s.ep), close(s.micro_batch_size), close(s.recompute), close(s.sharding), close(s.dispatcher);
  close(s.cuda_graph), close(s.cp), close(s.split), close(s.vpp), close(s.etp), close(s.expert_alltoall_overlap);
  return scenario_;
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
