// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "shardfit/base/units.hpp"

namespace shardfit {

/// What a column holds. It decides the alignment, the unit of a printed column and the suffix of its key in CSV and JSON:
/// bytes print in KiB, MiB or GiB (one choice a column) and are written as "<key>_gib"; seconds print in us, ms or s and
/// are written as "<key>_s"; a ratio prints in percent and is written as a plain number.
enum class ColumnKind { text, flag, count, number, ratio, bytes, seconds };

/// Who sees a column: a printed table repeats less than a data file.
enum class Shown { everywhere, table_only, data_only };

/// One value. Empty: not known or not applicable; it prints as "-", is null in JSON and an empty field in CSV.
using Cell = std::variant<std::monostate, std::string, bool, std::int64_t, double, Bytes, Seconds>;

/// A text cell from any text.
inline Cell text_cell(std::string_view text) { return std::string(text); }
/// A count cell from any whole number.
inline Cell count_cell(std::int64_t n) { return n; }

/// `key` is the name in CSV and JSON without its unit (see `data_key`); `title` is the printed heading.
struct Column {
  std::string key, title;
  ColumnKind kind = ColumnKind::text;
  int digits = 1;  ///< decimals of a printed `number` or `ratio`
  Shown shown = Shown::everywhere;
};

/// Data rows go everywhere. Subtotals and totals are printed only: in a data file they would be counted twice.
enum class RowKind { data, subtotal, total };

struct Row {
  std::vector<Cell> cells;  ///< one a column
  RowKind kind = RowKind::data;
  int depth = 0;  ///< indentation of the last text column
};

/// `cards`: printed as one block a row (first column as heading), for rows that hold sentences.
struct Table {
  std::vector<Column> columns;
  std::vector<Row> rows;
  bool cards = false;
  std::size_t most_printed = 0;  ///< rows in print; data files have all. 0: all
  std::string rest;              ///< where the others are, in words
};

/// One named value; printed as a line, written as a member of an object.
struct Fact {
  Column column;
  Cell value;
  std::string remark;  ///< printed behind the value
};
using Facts = std::vector<Fact>;

/// Ready-made text in a language of its own (Graphviz); JSON holds it as a string.
struct Verbatim {
  std::string text;
};

struct Section {
  std::string key, title;  ///< key: the member's name in JSON, the block's name in CSV
  std::variant<Facts, Table, Verbatim> body;
  std::vector<std::string> notes;  ///< printed under the section; JSON: "<key>_notes"
};

/// How a line of verdict is coloured where colour is allowed; its words say the same.
enum class Tone { neutral, good, bad };

/// What a command found, before it has a form. Made of values only: whoever fills it has computed everything.
struct Document {
  std::string view;  ///< the command, "sweep"
  std::string title;
  std::vector<Section> sections;
  std::vector<std::string> warnings;
  std::string summary;        ///< the last line; may be empty
  Tone tone = Tone::neutral;  ///< of the summary
};

/// The column's key with its unit: "peak_memory" of kind bytes is "peak_memory_gib".
std::string data_key(const Column& column);

/// The value of a cell in the unit of `data_key`, for CSV and JSON; text and flags are unchanged.
Cell data_value(const Cell& cell);

/// Keeps the sections whose key is in `keys`, in the document's order.
/// Throws InputError (pointer "--section") for a key that the document does not have.
Document only_sections(Document document, const std::vector<std::string>& keys);

}  // namespace shardfit
