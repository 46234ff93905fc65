// SPDX-License-Identifier: Apache-2.0
#include "search/walk.hpp"

namespace shardfit::search {
namespace {

/// The best layouts that a little more memory would make feasible.
void keep_for_more_memory(const Search& search, const Ranked& ranked, Findings& findings) {
  const double over = ranked.candidate.quick.peak / search.budget - 1;
  for (std::size_t i = 0; i < kMoreMemory.size(); ++i)
    if (over <= kMoreMemory[i]) findings.with_more_memory[i].add(ranked);
}

bool breaks_host_limit(const Search& search, const Layout& layout, Estimator::Workspace& workspace) {
  const double most = search.limits.host_memory_gib;
  return most > 0 && in_gib(search.measure.host_memory(layout, workspace)) > most;
}

}  // namespace

void collect(const Search& search, std::uint64_t index, const Layout& layout, const std::optional<Quick>& quick,
             Estimator::Workspace& workspace, Findings& findings) {
  if (quick && search.options.every_layout()) findings.all.push_back({index, *quick});
  if (!quick || quick->peak > search.memory_limit) return findings.refuse({kRefusedByMemory}, index, 1);
  const auto score = [&](Metric metric) { return search.measure.score(metric, layout, *quick, workspace); };
  const bool host_full = breaks_host_limit(search, layout, workspace);
  if (quick->peak > search.budget) {
    if (!host_full) keep_for_more_memory(search, {score(search.objective), {index, *quick}}, findings);
    return findings.refuse({quick->fits ? kRefusedByLimit : kRefusedByMemory}, index, 1);
  }
  if (host_full) return findings.refuse({kRefusedByLimit}, index, 1);
  ++findings.fit;
  findings.best.add({score(search.objective), {index, *quick}});
  FrontPoint point;
  point.candidate = {index, *quick};
  for (std::size_t i = 0; i < search.front_metrics.size(); ++i) point.scores[i] = score(search.front_metrics[i]);
  findings.front.add(point);
}

}  // namespace shardfit::search
