// SPDX-License-Identifier: Apache-2.0
#include "search/findings.hpp"

#include <algorithm>

namespace shardfit::search {

Findings::Findings(Capacity capacity)
    : best(capacity.best),
      front(capacity.metrics),
      with_more_memory{TopK(1), TopK(1), TopK(1)},
      rejected(rules().size() + std::size_t(-kRefusedByLimit)) {}

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

void Findings::merge(const Findings& o) {
  evaluated += o.evaluated;
  valid += o.valid;
  fit += o.fit;
  best.merge(o.best);
  front.merge(o.front);
  pruned += o.pruned;
  for (std::size_t i = 0; i < with_more_memory.size(); ++i) with_more_memory[i].merge(o.with_more_memory[i]);
  all.insert(all.end(), o.all.begin(), o.all.end());
  for (const Rejected& r : o.rejected)
    if (r.count > 0) refuse(r.violation, r.example, r.count);
}

void Findings::merge(PartialSweep&& part) {
  evaluated += part.evaluated;
  valid += part.valid;
  fit += part.fit;
  pruned += part.pruned;
  for (const Ranked& r : part.best) best.add(r);
  for (const FrontPoint& p : part.front) front.add(p);
  for (std::size_t i = 0; i < with_more_memory.size(); ++i)
    if (part.with_more_memory[i]) with_more_memory[i].add(*part.with_more_memory[i]);
  if (all.empty())
    all = std::move(part.all);
  else
    all.insert(all.end(), part.all.begin(), part.all.end());
  for (const Rejected& r : part.rejected) refuse(r.violation, r.example, r.count);
}

void Findings::write_to(PartialSweep& part) const {
  part.evaluated = evaluated;
  part.valid = valid;
  part.fit = fit;
  part.pruned = pruned;
  part.best = best.sorted();
  part.front = front.sorted();
  for (std::size_t i = 0; i < with_more_memory.size(); ++i) {
    const std::vector<Ranked> one = with_more_memory[i].sorted();
    part.with_more_memory[i].reset();
    if (!one.empty()) part.with_more_memory[i] = one.front();
  }
  part.rejected.clear();
  for (const Rejected& r : rejected)
    if (r.count > 0) part.rejected.push_back(r);
}

}  // namespace shardfit::search
