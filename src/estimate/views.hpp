// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "estimate/evaluation.hpp"

namespace shardfit::estimate {

// The rows of a full estimate. Each view reads the same parts as the totals do.

std::vector<StageTime> stage_times(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid);
std::vector<TensorRow> tensor_rows(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid);
std::vector<ModuleRow> module_rows(const Problem& problem, const Evaluation& e, const Layout& layout, const GridSizes& grid);
std::vector<TrafficRow> traffic_rows(const Problem& problem, Evaluation& e, const Layout& layout, const GridSizes& grid);

/// What samples come to, for the report of a run with a tower.
SampleFigures sample_figures(const Problem& problem, const Evaluation& e, const Layout& layout, const GridSizes& grid);

/// What the model leaves out of this layout, and what the stack would silently change.
void set_remarks(const Problem& problem, const Layout& layout, Estimate& out);

}  // namespace shardfit::estimate
