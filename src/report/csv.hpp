// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "shardfit/report/document.hpp"

namespace shardfit::report {

/// Appends one CSV field, quoted where RFC 4180 asks for it.
void append_field(std::string& line, std::string_view text);

/// Appends a cell in the unit of its column's `data_key`; empty cells and numbers that are not finite are empty fields.
void append_cell(std::string& line, const Cell& cell);

/// "a,b,c\n" of the columns that data files have.
std::string header_line(std::span<const Column> columns);

}  // namespace shardfit::report
