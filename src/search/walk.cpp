// SPDX-License-Identifier: Apache-2.0
#include "search/walk.hpp"

namespace shardfit::search {
namespace {

/// Every axis at its first value: what the space does not open is in place, and nothing is out of range.
Layout first_layout(const Search& search) {
  Layout layout = search.scenario.base;
  for (std::size_t i = 0; i < kAxes; ++i) apply_digit(search.scenario, LayoutAxis(i), 0, layout);
  return layout;
}

}  // namespace

Search::Search(const Scenario& s, const Estimator& e, const SweepOptions& o)
    : scenario(s), estimator(e), options(o), radix(radices(s.space)), below(strides(radix)),
      rules(job_facts(e.job())), aliases(s, e, rules) {}

Walker::Walker(const Search& search)
    : findings(std::size_t(search.options.top)), search_(search), layout_(first_layout(search)),
      cursor_(search.rules, layout_) {}

void Walker::set(LayoutAxis axis, std::uint32_t digit) {
  digits_[axis] = digit;
  apply_digit(search_.scenario, axis, digit, layout_);
  cursor_.entered(axis);
}

/// Whether the layouts below `axis`, `count` of them, are refused; then they are written down.
bool Walker::refused(LayoutAxis axis, std::uint64_t first, std::uint64_t count) {
  std::optional<Violation> reason = cursor_.broken_at(axis);
  if (!reason && search_.aliases.folds(axis, digits_, layout_)) reason = Violation{kRefusedAsAlias};
  if (!reason) return false;
  findings.evaluated += count;
  findings.refuse(*reason, first, count);
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
  // Where nobody wants the numbers of layouts that do not fit, their time is not worked out.
  if (search_.options.prune && !search_.options.keep_all) {
    if (const auto quick = search_.estimator.quick_if_fits(layout_, workspace_)) findings.keep({index, *quick});
    else findings.refuse({kRefusedByMemory}, index, 1);
    return;
  }
  const Candidate candidate{index, search_.estimator.quick(layout_, workspace_)};
  if (search_.options.keep_all) findings.all.push_back(candidate);
  if (candidate.quick.fits) findings.keep(candidate);
  else findings.refuse({kRefusedByMemory}, index, 1);
}

}  // namespace shardfit::search
