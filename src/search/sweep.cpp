// SPDX-License-Identifier: Apache-2.0
#include "shardfit/search/sweep.hpp"

#include <chrono>

#include "search/space.hpp"
#include "shardfit/search/partial.hpp"

namespace shardfit {

SweepResult sweep(const Study& study, const SweepOptions& options) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  SweepResult result = result_of(study, options, search_part(study, options));
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

SweepResult sweep(const Scenario& scenario, const Estimator& estimator, const SweepOptions& options) {
  return sweep(Study({{&scenario, &estimator}}, {}), options);
}

Scenario limited(Scenario scenario, const Limits& limits) {
  SearchSpace& s = scenario.space;
  const auto cut = [](std::vector<int>& values, int most) {
    if (most > 0) std::erase_if(values, [most](int v) { return v > most; });
  };
  cut(s.tp, limits.tp);
  cut(s.cp, limits.cp);
  cut(s.pp, limits.pp);
  cut(s.vpp, limits.vpp);
  cut(s.ep, limits.ep);
  cut(s.etp, limits.etp);
  cut(s.micro_batch_size, limits.micro_batch_size);
  return scenario;
}

}  // namespace shardfit
