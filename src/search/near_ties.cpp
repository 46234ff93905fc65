// SPDX-License-Identifier: Apache-2.0
#include "search/near_ties.hpp"

#include <algorithm>
#include <cmath>

#include "search/axis_values.hpp"
#include "search/space.hpp"

namespace shardfit::search {
namespace {

bool open_in_any(const Study& study, LayoutAxis axis) {
  return std::any_of(study.jobs().begin(), study.jobs().end(),
                     [&](const StudyJob& job) { return radices(job.scenario->space)[axis] > 1; });
}

void count_value(LayoutAxis axis, const Layout& layout, std::vector<NearTies::Value>& values) {
  for (NearTies::Value& value : values)
    if (same_on(axis, value.layout, layout)) {
      ++value.count;
      return;
    }
  values.push_back({layout, 1});
}

}  // namespace

NearTies near_ties(const Study& study, const std::vector<Ranked>& best, std::size_t kept, double band,
                   std::string_view reason) {
  NearTies ties;
  if (best.empty() || !follows_step_time(study.goals().objective)) return ties;
  ties.band = band;
  ties.reason = reason;
  // A step that takes a band longer: rates (scores below 0) fall by as much as times grow.
  const double longer = 1 + band, best_score = best.front().score;
  const double worst = best_score < 0 ? best_score / longer : best_score * longer;
  while (ties.count < best.size() && best[ties.count].score <= worst) ++ties.count;
  ties.at_least = ties.count == kept;
  std::vector<Layout> layouts;
  for (std::size_t i = 0; i < ties.count; ++i) layouts.push_back(study.layout_of(best[i].candidate.index));
  for (std::size_t a = 0; a < kAxes; ++a) {
    if (!open_in_any(study, LayoutAxis(a))) continue;
    NearTies::Axis axis{LayoutAxis(a), {}};
    for (const Layout& layout : layouts) count_value(axis.axis, layout, axis.values);
    ties.axes.push_back(std::move(axis));
  }
  return ties;
}

}  // namespace shardfit::search
