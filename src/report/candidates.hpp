// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "shardfit/report/document.hpp"
#include "shardfit/search/sweep.hpp"

namespace shardfit::report {

/// Columns of a candidate: its figures, the GPUs, every field of its layout, its id. None of them is printed only, so a
/// row has one CSV field a cell.
std::vector<Column> all_candidate_columns();

/// The cells of those columns.
Row candidate_row(const Scenario& scenario, const Candidate& candidate);

/// A ranked table of candidates; layout fields that are the same in all rows move from the columns into a note.
Section candidate_section(const char* key, std::string title, const Scenario& scenario,
                          std::span<const Candidate> candidates);

/// Hides (from print, not from data) the layout columns whose value is the same in every row, except the parallel sizes;
/// returns them as "sharding=optimizer, dispatcher=hybridep".
std::string hide_constant_columns(Table& table);

}  // namespace shardfit::report
