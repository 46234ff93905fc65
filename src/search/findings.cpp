// SPDX-License-Identifier: Apache-2.0
#include "search/findings.hpp"

#include <algorithm>

namespace shardfit::search {

Findings::Findings(std::size_t top) : best(top), rejected(rules().size() + std::size_t(-kRefusedAsAlias)) {}

std::size_t Findings::slot_of(RuleId reason) const {
  return reason >= 0 ? std::size_t(reason) : rejected.size() - std::size_t(-reason);
}

void Findings::refuse(const Violation& reason, std::uint64_t first, std::uint64_t count) {
  Rejected& r = rejected[slot_of(reason.rule)];
  if (r.count == 0 || first < r.example) {
    r.rule = reason.rule;
    r.example = first;
    r.violation = reason;
  }
  r.count += count;
}

void Findings::keep(const Candidate& candidate) {
  ++fit;
  best.add(candidate);
  front.add(candidate);
}

void Findings::merge(const Findings& o) {
  evaluated += o.evaluated;
  valid += o.valid;
  fit += o.fit;
  best.merge(o.best);
  front.merge(o.front);
  all.insert(all.end(), o.all.begin(), o.all.end());
  for (const Rejected& r : o.rejected)
    if (r.count > 0) refuse(r.violation, r.example, r.count);
}

SweepResult result_of(Findings&& found) {
  SweepResult r;
  r.evaluated = found.evaluated;
  r.valid = found.valid;
  r.fit = found.fit;
  r.top = found.best.sorted();
  r.pareto = found.front.sorted();
  r.all = std::move(found.all);
  std::sort(r.all.begin(), r.all.end(), [](const Candidate& a, const Candidate& b) { return a.index < b.index; });
  for (const Rejected& rejected : found.rejected)
    if (rejected.count > 0) r.rejected.push_back(rejected);
  std::stable_sort(r.rejected.begin(), r.rejected.end(),
                   [](const Rejected& a, const Rejected& b) { return a.count > b.count; });
  return r;
}

}  // namespace shardfit::search
