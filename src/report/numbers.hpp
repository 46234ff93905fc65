// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "shardfit/report/document.hpp"

namespace shardfit::report {

/// The unit that a printed column (or a single fact) is written in, and its decimals.
struct PrintUnit {
  std::string name;     ///< "GiB"; empty for plain numbers
  double per_unit = 1;  ///< base units (bytes, seconds, 1) in one
  int digits = 0;
};

/// The unit for a column whose largest magnitude is `largest` (in bytes or seconds; ignored for other kinds).
PrintUnit print_unit(const Column& column, double largest);

/// The size of a number cell in base units; 0 for text, flags and empty cells.
double magnitude(const Cell& cell);

/// A cell as text in `unit`, without the unit's name; "-" if empty.
std::string cell_text(const Cell& cell, const PrintUnit& unit);

/// A lone value with its unit: "12.34 GiB".
std::string with_unit(const Column& column, const Cell& cell);
std::string with_unit(Bytes bytes);
std::string with_unit(Seconds seconds);
/// "12.3 %" of a ratio.
std::string percent(double ratio, int digits = 1);

/// 1234567 -> "1,234,567".
std::string grouped(std::int64_t n);
/// The same with decimals.
std::string grouped(double n, int digits);

}  // namespace shardfit::report
