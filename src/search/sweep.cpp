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
  for (const SizeLimit& limit : kSizeLimits)
    if (const int most = limits.*limit.most; most > 0)
      std::erase_if(scenario.space.*limit.values, [most](int v) { return v > most; });
  return scenario;
}

}  // namespace shardfit
