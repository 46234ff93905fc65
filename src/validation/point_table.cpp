// SPDX-License-Identifier: Apache-2.0
#include "validation/point_table.hpp"

#include <algorithm>
#include <cstdlib>

#include "shardfit/base/error.hpp"

namespace shardfit::validation {

bool PointTable::has(const std::string& column) const {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

const std::string& PointRow::text(const char* column) const {
  static const std::string kBlank;
  const auto at = std::find(table_->columns.begin(), table_->columns.end(), column);
  return at == table_->columns.end() ? kBlank : line_->cells[std::size_t(at - table_->columns.begin())];
}

double PointRow::number(const char* column, double least) const {
  const std::string& cell = text(column);
  char* end = nullptr;
  const double value = std::strtod(cell.c_str(), &end);
  if (end == cell.c_str() || *end != '\0' || !(value >= least))
    throw InputError(table_->file, "line " + std::to_string(line_->number) + ", " + column,
                     cell.empty() ? "nothing" : "'" + cell + "'", least > 0 ? "a number above 0" : "a number of at least 0");
  return value;
}

std::optional<double> PointRow::maybe_number(const char* column) const {
  if (text(column).empty()) return std::nullopt;
  return number(column);
}

}  // namespace shardfit::validation
