// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "shardfit/base/names.hpp"
#include "shardfit/report/document.hpp"

namespace shardfit {

enum class Format { table, csv, json, count };
template <>
inline constexpr NameList<Format> kNames<Format> = {"table", "csv", "json"};

/// Aligned text: numbers to the right, one unit a column, totals last. `colour`: ANSI escapes around what the words say.
void render_table(const Document& document, std::ostream& out, bool colour = false);

/// RFC 4180 with units in the header. A document of several sections is written as blocks: "# key", header, rows, an empty
/// line; one section alone (see `only_sections`) is a plain CSV file.
void render_csv(const Document& document, std::ostream& out);

/// One object: view, cost_model_version, a member a section (facts: object, table: array of objects), warnings, summary.
void render_json(const Document& document, std::ostream& out);

void render(const Document& document, Format format, std::ostream& out, bool colour = false);

}  // namespace shardfit
