// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "shardfit/layout/layout_axis.hpp"
#include "shardfit/report/document.hpp"
#include "shardfit/spec/layout.hpp"

namespace shardfit::report {

/// One column of a layout: its heading and how to read it. One list serves the tables, the CSV files and the facts of an
/// estimate, so headings and values cannot drift apart.
struct LayoutField {
  const char* key;
  const char* title;
  ColumnKind kind;
  bool axis;  ///< one of the parallel sizes, which every table shows
  Cell (*read)(const Layout&, const GridSizes&);
};

/// All fields, parallel sizes first.
std::span<const LayoutField> layout_fields();

Column column_of(const LayoutField& field);

/// The value that a layout has on an axis of a search, as one word.
std::string axis_text(LayoutAxis axis, const Layout& layout);

/// Whether the field's value is worth a reader's time: it is not what a plain layout has. Sharding and recompute always are.
bool worth_saying(const LayoutField& field, const Cell& value);

}  // namespace shardfit::report
