// SPDX-License-Identifier: Apache-2.0
#include "search/walk.hpp"

namespace shardfit::search {
namespace {

/// Calls f(archive) for each of the archives of layouts that a little more memory would make feasible.
template <class F>
void for_each_more_memory(const Search& search, const Quick& quick, Findings& findings, F f) {
  const double over = quick.peak / search.budget - 1;
  for (std::size_t i = 0; i < kMoreMemory.size(); ++i)
    if (over <= kMoreMemory[i]) f(findings.with_more_memory[i]);
}

bool breaks_host_limit(const Search& search, const Layout& layout, Estimator::Workspace& workspace) {
  const double most = search.limits.host_memory_gib;
  return most > 0 && in_gib(search.measure.host_memory(layout, workspace)) > most;
}

}  // namespace

void collect(const Search& search, std::uint64_t index, const Layout& layout, std::optional<Quick> quick, bool bound,
             Estimator::Workspace& workspace, Findings& findings) {
  if (quick && search.options.every_layout()) findings.all.push_back({index, *quick});
  if (!quick || quick->peak > search.memory_limit) return findings.refuse({kRefusedByMemory}, index, 1);
  const auto score = [&](Metric metric) { return search.measure.score(metric, layout, *quick, workspace); };
  const auto ranked = [&] { return Ranked{score(search.objective), {index, *quick}}; };
  const auto complete = [&] {
    if (bound) search.estimator.complete(layout, workspace, *quick);
  };
  const bool host_full = breaks_host_limit(search, layout, workspace);
  if (quick->peak > search.budget) {
    bool worth = !bound;
    if (bound && !host_full)
      for_each_more_memory(search, *quick, findings,
                           [&, least = score(search.objective)](const TopK& a) { worth |= least <= a.threshold(); });
    if (worth && !host_full) {
      complete();
      for_each_more_memory(search, *quick, findings, [&, r = ranked()](TopK& archive) { archive.add(r); });
    }
    findings.pruned.by_time += !worth && !host_full;
    return findings.refuse({quick->fits ? kRefusedByLimit : kRefusedByMemory}, index, 1);
  }
  if (host_full) return findings.refuse({kRefusedByLimit}, index, 1);
  ++findings.fit;
  const auto point = [&] {
    FrontPoint p;
    p.candidate = {index, *quick};
    for (std::size_t i = 0; i < search.front_metrics.size(); ++i) p.scores[i] = score(search.front_metrics[i]);
    return p;
  };
  if (bound && score(search.objective) > findings.best.threshold() && findings.front.beats(point())) {
    ++findings.pruned.by_time;
    return;
  }
  complete();
  findings.best.add(ranked());
  findings.front.add(point());
}

}  // namespace shardfit::search
