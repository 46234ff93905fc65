// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "shardfit/layout/layout_axis.hpp"
#include "shardfit/search/tried.hpp"

namespace shardfit {

/// What one step along one axis of a search does to a layout.
struct AxisStep : Tried {  ///< the layout after the step
  LayoutAxis axis = LayoutAxis::tp;
  /// Step time after over before, less 1: below 0 the step gains. Compare only where `runs()`.
  double loss = 0;
  bool to_even_split = false;  ///< to the split whose stages hold the most equal numbers of layers
};

/// One step along each axis that the scenario's search leaves open, in the order of the axes. Sizes and fractions step to
/// the next value below and the next above; of an axis without an order (recompute, sharding, dispatcher, ...) the other
/// value that loses least is the step, so that its loss says what the choice is worth at least. Values that change no
/// number are no steps. A split also steps to the most even one that the rules allow. `layout` passes the rules, and need
/// not be in the space.
std::vector<AxisStep> axis_steps(const Scenario& scenario, const Estimator& estimator, const Layout& layout);

}  // namespace shardfit
