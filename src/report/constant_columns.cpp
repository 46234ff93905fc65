// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "report/candidates.hpp"
#include "report/layout_fields.hpp"
#include "report/numbers.hpp"

namespace shardfit::report {
namespace {

/// Where a layout field has a column of its own only for data files: the printed table has it in another column or it
/// follows from the others.
bool only_for_data(const std::string& key) {
  return key == "edp" || key == "microbatches" || key == "overlap" || key == "offload";
}

bool same_in_all(const Table& table, std::size_t column) {
  return std::all_of(table.rows.begin(), table.rows.end(),
                     [&](const Row& row) { return row.cells[column] == table.rows.front().cells[column]; });
}

}  // namespace

std::string hide_constant_columns(Table& table) {
  std::string same;
  if (table.rows.empty()) return same;
  for (const LayoutField& field : layout_fields()) {
    if (field.axis) continue;
    const auto column = std::find_if(table.columns.begin(), table.columns.end(),
                                     [&](const Column& c) { return c.key == field.key; });
    if (column == table.columns.end()) continue;
    const std::size_t index = std::size_t(column - table.columns.begin());
    if (only_for_data(field.key)) {
      column->shown = Shown::data_only;
      continue;
    }
    if (!same_in_all(table, index)) continue;
    column->shown = Shown::data_only;
    const Cell& value = table.rows.front().cells[index];
    if (worth_saying(field, value)) same += (same.empty() ? "" : ", ") + column->key + "=" + with_unit(*column, value);
  }
  return same;
}

}  // namespace shardfit::report
