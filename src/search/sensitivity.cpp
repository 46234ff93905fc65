// SPDX-License-Identifier: Apache-2.0
#include "shardfit/search/sensitivity.hpp"

#include <algorithm>

#include "search/axis_values.hpp"
#include "search/even_split.hpp"
#include "search/space.hpp"

namespace shardfit {
namespace {

using namespace search;

/// Tries values of axes in the place of a layout's own.
class Prober {
 public:
  Prober(const Scenario& scenario, const Estimator& estimator, const Layout& layout)
      : scenario_(scenario), estimator_(estimator), layout_(layout), here_(estimator.quick(layout, workspace_)) {}

  AxisStep to(LayoutAxis axis, std::uint32_t digit) {
    Layout there = layout_;
    apply_digit(scenario_, axis, digit, there);
    return to(axis, std::move(there));
  }
  AxisStep to(LayoutAxis axis, Layout layout) {
    AxisStep step{try_layout(estimator_, std::move(layout), workspace_), axis};
    if (!step.refused) step.loss = step.quick.step_time_s / here_.step_time_s - 1;
    return step;
  }
  bool changes_nothing(const AxisStep& step) const {
    return !step.refused && step.quick.step_time_s == here_.step_time_s && step.quick.peak == here_.peak;
  }

 private:
  const Scenario& scenario_;
  const Estimator& estimator_;
  const Layout& layout_;
  Estimator::Workspace workspace_;
  Quick here_;
};

/// Whether a step is the better news: it runs; then by loss; what does not fit before what a rule refuses.
bool milder(const AxisStep& a, const AxisStep& b) {
  if (a.runs() != b.runs()) return a.runs();
  if (a.refused.has_value() != b.refused.has_value()) return !a.refused;
  return a.loss < b.loss;
}

/// The next values of an ordered axis below and above the layout's.
void add_neighbours(Prober& prober, LayoutAxis axis, const Layout& layout, std::uint32_t values, std::vector<AxisStep>& steps) {
  const double now = size_on(axis, layout);
  std::optional<AxisStep> below, above;
  for (std::uint32_t digit = 0; digit < values; ++digit) {
    AxisStep step = prober.to(axis, digit);
    const double size = size_on(axis, step.layout);
    if (size < now && (!below || size > size_on(axis, below->layout)))
      below = std::move(step);
    else if (size > now && (!above || size < size_on(axis, above->layout)))
      above = std::move(step);
  }
  for (std::optional<AxisStep>* step : {&below, &above})
    if (*step && !prober.changes_nothing(**step)) steps.push_back(std::move(**step));
}

/// Of the other values of an axis without an order, the one that loses least.
void add_alternative(Prober& prober, LayoutAxis axis, const Layout& layout, std::uint32_t values,
                     std::vector<AxisStep>& steps) {
  std::optional<AxisStep> best;
  for (std::uint32_t digit = 0; digit < values; ++digit) {
    AxisStep step = prober.to(axis, digit);
    if (same_on(axis, layout, step.layout) || prober.changes_nothing(step)) continue;
    if (!best || milder(step, *best)) best = std::move(step);
  }
  if (best) steps.push_back(std::move(*best));
}

/// Going back to the most even split: what a split that was searched for gains. Marks the step if it is there already.
void add_even_split(Prober& prober, const Scenario& scenario, const Layout& layout, std::vector<AxisStep>& steps) {
  Layout even = layout;
  even.split = most_even_split(scenario, layout);
  if (same_on(LayoutAxis::split, layout, even)) return;
  for (AxisStep& step : steps)
    if (step.axis == LayoutAxis::split && same_on(LayoutAxis::split, step.layout, even)) {
      step.to_even_split = true;
      return;
    }
  AxisStep step = prober.to(LayoutAxis::split, std::move(even));
  if (prober.changes_nothing(step)) return;
  step.to_even_split = true;
  steps.push_back(std::move(step));
}

}  // namespace

std::vector<AxisStep> axis_steps(const Scenario& scenario, const Estimator& estimator, const Layout& layout) {
  Prober prober(scenario, estimator, layout);
  const Digits radix = radices(scenario.space);
  std::vector<AxisStep> steps;
  for (std::size_t i = 0; i < kAxes; ++i) {
    const LayoutAxis axis = LayoutAxis(i);
    if (radix[axis] < 2) continue;
    if (is_ordered(axis))
      add_neighbours(prober, axis, layout, radix[axis], steps);
    else
      add_alternative(prober, axis, layout, radix[axis], steps);
    if (axis == LayoutAxis::split) add_even_split(prober, scenario, layout, steps);
  }
  return steps;
}

}  // namespace shardfit
