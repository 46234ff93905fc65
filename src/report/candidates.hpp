// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "shardfit/report/document.hpp"
#include "shardfit/search/measure.hpp"
#include "shardfit/search/sweep.hpp"

namespace shardfit::report {

/// Columns of a candidate: its figures, its job, every field of its layout, its id. None of them is printed only, so a
/// row has one CSV field a cell. Metrics in `printed` have a column in printed tables, besides those that always do.
std::vector<Column> all_candidate_columns(std::span<const Metric> printed = {});

/// Makes the cells of those columns for candidates of a study.
class CandidateRows {
 public:
  explicit CandidateRows(const Study& study);
  /// Without what only a second look knows: those cells are empty.
  Row row(const Candidate& candidate);
  Row row(const Judged& judged);

 private:
  Row row(const Candidate& candidate, const Judged* judged);
  const Study& study_;
  std::vector<Measure> measures_;  ///< one a job
  std::vector<Estimator::Workspace> workspaces_;
  bool totals_ = false;  ///< time, cost and energy of the whole training
};

/// A ranked table of candidates; fields that are the same in all rows move from the columns into a note.
Section candidate_section(const char* key, std::string title, const Study& study, std::span<const Judged> candidates);

/// Hides (from print, not from data) the layout columns whose value is the same in every row, except the parallel sizes;
/// returns them as "sharding=optimizer, dispatcher=hybridep".
std::string hide_constant_columns(Table& table);

}  // namespace shardfit::report
