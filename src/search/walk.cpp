// SPDX-License-Identifier: Apache-2.0
#include "search/walk.hpp"

#include <algorithm>

namespace shardfit::search {
namespace {

/// Every axis at its first value: what the space does not open is in place, and nothing is out of range.
Layout first_layout(const Search& search) {
  Layout layout = search.scenario.base;
  for (std::size_t i = 0; i < kAxes; ++i) apply_digit(search.scenario, LayoutAxis(i), 0, layout);
  return layout;
}

Bytes part_of(Bytes bytes, double part) { return Bytes(std::int64_t(double(bytes.value) * part)); }

std::vector<Metric> asked_of(Metric objective, std::vector<Metric> metrics) {
  metrics.push_back(objective);
  return metrics;
}

}  // namespace

Search::Search(const Study& study, std::size_t job, const SweepOptions& o)
    : scenario(*study.jobs()[job].scenario),
      estimator(*study.jobs()[job].estimator),
      options(o),
      limits(study.goals().limits),
      offset(study.first_of(job)),
      radix(radices(scenario.space)),
      below(strides(radix)),
      rules(job_facts(scenario.job)),
      inner_rules(scenario, rules),
      aliases(scenario, estimator, rules),
      objective(study.goals().objective),
      front_metrics(shardfit::front_metrics(study)),
      measure(scenario.job, estimator, study.goals(), asked_of(objective, front_metrics)),
      budget(part_of(estimator.usable_memory(), 1 - limits.memory_headroom)),
      memory_limit(std::max(estimator.usable_memory(), part_of(budget, 1 + kMoreMemory.back()))) {}

Walker::Walker(const Search& search, Task task)
    : findings(search.capacity()),
      search_(search),
      task_(task),
      layout_(first_layout(search)),
      cursor_(search.rules, layout_) {}

void Walker::set(LayoutAxis axis, std::uint32_t digit) {
  digits_[axis] = digit;
  apply_digit(search_.scenario, axis, digit, layout_);
  cursor_.entered(axis);
}

/// Whether the layouts below `axis`, `count` of them, are refused; then they are written down.
bool Walker::refused(LayoutAxis axis, std::uint64_t first, std::uint64_t count) {
  // Brute force asks every rule of every combination.
  std::optional<Violation> reason = search_.options.prune ? search_.inner_rules.broken_at(axis, digits_, cursor_)
                                                          : cursor_.broken_at(axis);
  if (!reason && search_.aliases.folds(axis, digits_, layout_)) reason = Violation{kRefusedAsAlias};
  if (!reason) return false;
  findings.evaluated += count;
  findings.pruned.by_rules += count - 1;
  findings.refuse(*reason, search_.offset + first, count);
  return true;
}

void Walker::walk(std::uint64_t unit) {
  const std::uint64_t first = unit * search_.unit_size();
  if (!search_.options.prune) return walk_every_index(first, first + search_.unit_size());
  const Digits digits = digits_of(search_.radix, first);
  for (std::size_t i = 0; i <= std::size_t(kLastUnitAxis); ++i) {
    set(LayoutAxis(i), digits[LayoutAxis(i)]);
    if (refused(LayoutAxis(i), first, search_.unit_size())) return;
  }
  descend(std::size_t(kLastUnitAxis) + 1, first);
  const Shortcuts shortcuts = workspace_.shortcuts();
  findings.pruned.by_state = shortcuts.by_state;
  findings.pruned.by_recompute = shortcuts.by_recompute;
  findings.pruned.by_graphs = shortcuts.by_graphs;
}

void Walker::descend(std::size_t level, std::uint64_t first) {
  if (level == kAxes) return evaluate(first);
  const LayoutAxis axis = LayoutAxis(level);
  const std::uint64_t below = search_.below[axis];
  for (std::uint32_t digit = 0; digit < search_.radix[axis]; ++digit, first += below) {
    set(axis, digit);
    if (!refused(axis, first, below)) descend(level + 1, first);
  }
}

void Walker::walk_every_index(std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t index = first; index < end; ++index) {
    const Digits digits = digits_of(search_.radix, index);
    for (std::size_t i = 0; i < kAxes; ++i) set(LayoutAxis(i), digits[LayoutAxis(i)]);
    bool sound = true;
    for (std::size_t i = 0; sound && i < kAxes; ++i) sound = !refused(LayoutAxis(i), index, 1);
    if (sound) evaluate(index);
  }
}

void Walker::evaluate(std::uint64_t index) {
  ++findings.evaluated;
  ++findings.valid;
  if (task_ == Task::count) return;
  if (task_ == Task::find_nearest) return compare_to_nearest(index);
  // Where nobody wants the numbers of layouts that do not fit or are too slow, they are not worked out.
  const bool bound = search_.options.prune && !search_.options.every_layout();
  const std::optional<Quick> quick = bound ? search_.estimator.quick_bound(search_.memory_limit, layout_, workspace_)
                                           : search_.estimator.quick(layout_, workspace_);
  collect(search_, search_.offset + index, layout_, quick, bound, workspace_, findings);
}

void Walker::compare_to_nearest(std::uint64_t index) {
  const double budget = double(search_.budget.value);
  constexpr double kAny = 1e18;  // bytes
  const Bytes limit(std::int64_t(nearest_ ? std::min(kAny, nearest_->share * budget + 1) : kAny));
  const std::optional<Quick> quick = search_.estimator.quick_bound(limit, layout_, workspace_);
  if (!quick || breaks_host_limit(search_, layout_, workspace_)) return;
  const Nearest here{double(quick->peak.value) / budget, search_.offset + index};
  if (!nearest_ || here.before(*nearest_)) nearest_ = here;
}

}  // namespace shardfit::search
