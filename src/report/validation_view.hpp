// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "shardfit/report/document.hpp"
#include "validation/assumed.hpp"
#include "validation/effects.hpp"
#include "validation/facts.hpp"
#include "validation/summary.hpp"

namespace shardfit {

/// Everything that a validation found.
struct ValidationResult {
  std::vector<validation::MeasuredRun> runs;
  std::vector<validation::Row> rows;  ///< one a run
  validation::Summary summary;
  std::optional<validation::Effects> effects;
  std::vector<validation::AssumedEffect> assumed;
  std::vector<validation::RunFact> facts;  ///< stated beside the rows
  std::vector<int> facts_held;             ///< of how many runs each is stated
  validation::FirstSteps first_steps;
};

/// Errors by quantity, verdicts, order of layouts, effects, rows without a prediction by reason, and the worst rows.
Document validation_document(const ValidationResult& result);

/// One row a scored quantity, for spreadsheets.
Document validation_rows_document(const ValidationResult& result);

/// {"rows": [...], "summary": [...], "verdicts": {...}, "order": {...}, "effects": [...], "assumed": [...],
/// "facts": [...], "first_steps": {...}}: the machine's form. Figures are
/// in the units of the measured files.
std::string validation_json(const ValidationResult& result);

/// The same as Markdown, with errors by cluster, model, precision and family, for docs/accuracy.md.
std::string validation_markdown(const ValidationResult& result);

}  // namespace shardfit
