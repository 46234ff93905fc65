// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "shardfit/report/document.hpp"
#include "validation/points.hpp"

namespace shardfit {

/// Errors of measured points by family and by group, points without a prediction by reason, and the worst points.
Document points_document(const validation::PointScores& scores);

/// One row a point, for spreadsheets.
Document points_rows_document(const validation::PointScores& scores);

/// The families and groups as Markdown, for docs/accuracy.md.
std::string points_markdown(const validation::PointScores& scores);

}  // namespace shardfit
