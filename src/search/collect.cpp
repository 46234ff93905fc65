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

/// What one layout is ordered by.
class Scores {
 public:
  Scores(const Search& search, std::uint64_t index, const Layout& layout, const Quick& quick, Estimator::Workspace& workspace)
      : search_(search), index_(index), layout_(layout), quick_(quick), workspace_(workspace) {}

  double objective() const { return search_.measure.score(search_.objective, layout_, quick_, workspace_); }
  Ranked ranked() const { return {objective(), {index_, quick_}}; }
  FrontPoint point(double objective) const {
    FrontPoint p;
    p.candidate = {index_, quick_};
    for (std::size_t i = 0; i < search_.front_metrics.size(); ++i) {
      const Metric metric = search_.front_metrics[i];
      p.scores[i] = metric == search_.objective ? objective : search_.measure.score(metric, layout_, quick_, workspace_);
    }
    return p;
  }

 private:
  const Search& search_;
  std::uint64_t index_;
  const Layout& layout_;
  const Quick& quick_;
  Estimator::Workspace& workspace_;
};

}  // namespace

bool breaks_host_limit(const Search& search, const Layout& layout, Estimator::Workspace& workspace) {
  const double most = search.limits.host_memory_gib;
  return most > 0 && in_gib(search.measure.host_memory(layout, workspace)) > most;
}

void collect(const Search& search, std::uint64_t index, const Layout& layout, std::optional<Quick> quick, bool bound,
             Estimator::Workspace& workspace, Findings& findings) {
  if (quick && search.options.every_layout()) findings.all.push_back({index, *quick});
  if (!quick || quick->peak > search.memory_limit) return findings.refuse({kRefusedByMemory}, index, 1);
  const Scores scores(search, index, layout, *quick, workspace);
  const auto complete = [&] {
    if (bound) search.estimator.complete(layout, workspace, *quick);
  };
  const bool host_full = breaks_host_limit(search, layout, workspace);
  if (quick->peak > search.budget) {
    bool worth = !bound;
    if (bound && !host_full)
      for_each_more_memory(search, *quick, findings,
                           [&, least = scores.objective()](const TopK& a) { worth |= least <= a.threshold(); });
    if (worth && !host_full) {
      complete();
      for_each_more_memory(search, *quick, findings, [&, r = scores.ranked()](TopK& archive) { archive.add(r); });
    }
    findings.pruned.by_time += !worth && !host_full;
    return findings.refuse({quick->fits ? kRefusedByLimit : kRefusedByMemory}, index, 1);
  }
  if (host_full) return findings.refuse({kRefusedByLimit}, index, 1);
  ++findings.fit;
  if (bound) {
    const double least = scores.objective();
    if (least > findings.best.threshold() && findings.front.beats(scores.point(least))) {
      ++findings.pruned.by_time;
      return;
    }
    complete();
  }
  const Ranked ranked = scores.ranked();
  findings.best.add(ranked);
  findings.front.add(scores.point(ranked.score));
}

}  // namespace shardfit::search
