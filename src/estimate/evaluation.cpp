// SPDX-License-Identifier: Apache-2.0
#include "estimate/evaluation.hpp"

namespace shardfit::estimate {

bool Evaluation::prepare_placement(const Problem& problem, const Layout& layout, const GridSizes& grid) {
  parts.prepare_shapes(layout, grid);
  if (!works.prepare(problem, layout, plan)) return false;
  if (!placement().begin(layout, parts.builds())) return true;
  graphs_too_much.clear();
  if (live.shed())
    for (PlacementConstants& p : placements) p.clear();
  return true;
}

bool Evaluation::prepare(const Problem& problem, const Layout& layout, const GridSizes& grid) {
  if (!prepare_placement(problem, layout, grid)) return false;
  parts.prepare_costs(layout);
  return true;
}

memory::ParamCounts stage_params(const Problem& problem, const Parts& parts, const StagePlan& plan, int stage) {
  memory::ParamCounts sum;
  for_each_part(problem, parts, plan, stage, [&](const Part& part, int copies) { sum += part.params * copies; });
  return sum;
}

}  // namespace shardfit::estimate
