// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "shardfit/estimate/estimator.hpp"
#include "shardfit/layout/layout_axis.hpp"

namespace shardfit {

/// What one step along one axis of a search does to a layout.
struct AxisStep {
  LayoutAxis axis = LayoutAxis::tp;
  Layout layout;                       ///< after the step
  std::optional<Violation> refused;    ///< the first rule that it breaks; then there are no numbers
  Quick quick;
  /// Step time after over before, less 1: below 0 the step gains. Compare only where `runs()`.
  double loss = 0;
  bool to_even_split = false;          ///< to the split whose stages hold the most equal numbers of layers
  bool runs() const { return !refused && quick.fits; }
};

/// One step along each axis that the scenario's search leaves open, in the order of the axes. Sizes and fractions step to
/// the next value below and the next above; of an axis without an order (recompute, sharding, dispatcher, ...) the other
/// value that loses least is the step, so that its loss says what the choice is worth at least. Values that change no
/// number are no steps. A split also steps to the most even one that the rules allow. `layout` passes the rules, and need not be in the space.
std::vector<AxisStep> axis_steps(const Scenario& scenario, const Estimator& estimator, const Layout& layout);

}  // namespace shardfit
