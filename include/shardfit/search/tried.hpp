// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "shardfit/estimate/estimator.hpp"
#include "shardfit/layout/rules.hpp"

namespace shardfit {

/// A change of step time or of memory below this part is called none: two runs of one layout differ by as much.
/// (assumed; published runs and their repetitions differ by 0 to 4 %)
inline constexpr double kNoDifference = 0.01;

/// A layout that was tried: refused by a rule, or with figures.
struct Tried {
  Layout layout;
  std::optional<Violation> refused;  ///< the first rule that it breaks; then there are no figures
  Quick quick;
  bool runs() const { return !refused && quick.fits; }
};

/// Holds a layout against the rules of the estimator's job, and estimates it if they allow it.
Tried try_layout(const Estimator& estimator, Layout layout, Estimator::Workspace& workspace);

}  // namespace shardfit
