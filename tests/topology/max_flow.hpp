// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "topology/graph_parts.hpp"

namespace shardfit {

/// What can flow at once from all of `sources` to all of `sinks` (positions in `parts.vertices`), GB/s: shortest augmenting
/// paths, every edge with its bandwidth each way, edges of kinds that are not asked for left out.
inline double max_flow(const topology::GraphParts& parts, const std::vector<int>& sources, const std::vector<int>& sinks,
                       std::initializer_list<topology::LinkKind> kinds) {
  const int from = int(parts.vertices.size()), to = from + 1;
  std::map<std::pair<int, int>, double> left;
  std::vector<std::vector<int>> next(std::size_t(to) + 1);
  const auto join = [&](int a, int b, double there, double back) {
    left[{a, b}] += there, left[{b, a}] += back;
    next[std::size_t(a)].push_back(b), next[std::size_t(b)].push_back(a);
  };
  for (const topology::Edge& e : parts.edges)
    if (std::find(kinds.begin(), kinds.end(), e.kind) != kinds.end())
      join(e.from, e.to, e.bandwidth.value / kGB, e.bandwidth.value / kGB);
  constexpr double kUnbounded = 1e12;
  for (const int s : sources) join(from, s, kUnbounded, 0);
  for (const int s : sinks) join(s, to, kUnbounded, 0);
  for (double flow = 0;;) {
    std::vector<int> before(next.size(), -1);
    std::queue<int> at;
    at.push(from);
    before[std::size_t(from)] = from;
    while (!at.empty() && before[std::size_t(to)] < 0) {
      const int v = at.front();
      at.pop();
      for (const int w : next[std::size_t(v)])
        if (before[std::size_t(w)] < 0 && left[{v, w}] > 1e-9) before[std::size_t(w)] = v, at.push(w);
    }
    if (before[std::size_t(to)] < 0) return flow;
    double step = kUnbounded;
    for (int v = to; v != from; v = before[std::size_t(v)]) step = std::min(step, left[{before[std::size_t(v)], v}]);
    for (int v = to; v != from; v = before[std::size_t(v)])
      left[{before[std::size_t(v)], v}] -= step, left[{v, before[std::size_t(v)]}] += step;
    flow += step;
  }
}

}  // namespace shardfit
