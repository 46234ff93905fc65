// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace shardfit::validation {

/// A table of measured kernels, collectives or library calls: named columns, one point a line. Read by io/load.hpp
/// (`load_points`).
struct PointTable {
  std::string file;
  std::vector<std::string> columns;
  struct Line {
    int number = 0;                  ///< in the file, from 1
    std::vector<std::string> cells;  ///< one a column
  };
  std::vector<Line> lines;

  bool has(const std::string& column) const;
};

/// One line of a table, by column name.
class PointRow {
 public:
  PointRow(const PointTable& table, const PointTable::Line& line) : table_(&table), line_(&line) {}

  /// Empty where the cell is blank or the table has no such column.
  const std::string& text(const char* column) const;
  /// Throws InputError (file, line and column) on text that is no number of at least `least`.
  double number(const char* column, double least = 0) const;
  /// None where the cell is blank or the table has no such column.
  std::optional<double> maybe_number(const char* column) const;

 private:
  const PointTable* table_;
  const PointTable::Line* line_;
};

}  // namespace shardfit::validation
