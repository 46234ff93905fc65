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

const memory::ParamCounts& stage_params(const Problem& problem, Evaluation& e, int stage) {
  std::optional<memory::ParamCounts>& kept = e.placement().stages[std::size_t(stage)].params;
  if (kept) return *kept;
  kept.emplace();
  for_each_part(problem, e.parts, e.plan, stage, [&](const Part& part, int copies) { *kept += part.params * copies; });
  return *kept;
}

}  // namespace shardfit::estimate
