// SPDX-License-Identifier: Apache-2.0
#include "shardfit/search/goals.hpp"

#include <algorithm>

namespace shardfit {

const char* fault_of_front(const std::vector<Metric>& metrics) {
  for (auto m = metrics.begin(); m != metrics.end(); ++m)
    if (std::find(metrics.begin(), m, *m) != m) return "each metric once";
  return metrics.size() < 2 || metrics.size() > kMostMetrics ? "two to four metrics" : nullptr;
}

}  // namespace shardfit
