// SPDX-License-Identifier: Apache-2.0
#include "shardfit/search/tried.hpp"

#include <utility>

namespace shardfit {

Tried try_layout(const Estimator& estimator, Layout layout, Estimator::Workspace& workspace) {
  Tried tried{std::move(layout), {}, {}};
  tried.refused = first_violation(estimator.job(), tried.layout);
  if (!tried.refused) tried.quick = estimator.quick(tried.layout, workspace);
  return tried;
}

}  // namespace shardfit
