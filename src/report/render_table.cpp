// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ostream>

#include "report/numbers.hpp"
#include "shardfit/report/render.hpp"

namespace shardfit {
namespace {

constexpr const char* kBold = "\033[1m";
constexpr const char* kGreen = "\033[32m";
constexpr const char* kRed = "\033[31m";
constexpr const char* kPlain = "\033[0m";
constexpr std::size_t kGap = 2;  // blanks between columns, and before the first
constexpr std::size_t kCardIndent = 4;

/// Characters on screen: UTF-8 continuation bytes take no room.
std::size_t width_of(const std::string& text) {
  return std::size_t(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width, bool to_right) {
  const std::size_t have = width_of(text);
  const std::string fill(width > have ? width - have : 0, ' ');
  return to_right ? fill + text : text + fill;
}

void paint(std::ostream& out, const std::string& text, const char* escape, bool colour) {
  if (colour)
    out << escape << text << kPlain;
  else
    out << text;
}

bool is_numeric(ColumnKind kind) { return kind != ColumnKind::text && kind != ColumnKind::flag; }

/// A column ready to print: its texts, all in one unit.
struct PrintedColumn {
  std::string heading;
  std::vector<std::string> cells;
  bool to_right = false;
  std::size_t width = 0;
};

PrintedColumn printed(const Table& table, std::size_t index) {
  const Column& column = table.columns[index];
  double largest = 0;
  for (const Row& row : table.rows) largest = std::max(largest, report::magnitude(row.cells[index]));
  const report::PrintUnit unit = report::print_unit(column, largest);
  PrintedColumn result;
  result.to_right = is_numeric(column.kind);
  const bool show_unit = !unit.name.empty() && column.kind != ColumnKind::ratio;
  result.heading = show_unit ? column.title + " " + unit.name : column.title;
  if (column.kind == ColumnKind::ratio) result.heading = column.title.empty() ? "%" : column.title + " %";
  result.width = width_of(result.heading);
  for (const Row& row : table.rows) {
    std::string text = report::cell_text(row.cells[index], unit);
    if (column.kind == ColumnKind::text && index + 1 == table.columns.size()) text.insert(0, std::size_t(row.depth) * 2, ' ');
    result.width = std::max(result.width, width_of(text));
    result.cells.push_back(std::move(text));
  }
  return result;
}

std::vector<PrintedColumn> printed_columns(const Table& table) {
  // Hidden columns are cut first, so that "the last column" is the last one seen.
  Table seen;
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].shown != Shown::data_only) kept.push_back(i);
  for (std::size_t i : kept) seen.columns.push_back(table.columns[i]);
  for (const Row& row : table.rows) {
    Row cut{{}, row.kind, row.depth};
    for (std::size_t i : kept) cut.cells.push_back(row.cells[i]);
    seen.rows.push_back(std::move(cut));
  }
  std::vector<PrintedColumn> columns;
  for (std::size_t i = 0; i < seen.columns.size(); ++i) columns.push_back(printed(seen, i));
  return columns;
}

std::string line_of(const std::vector<PrintedColumn>& columns, auto text_of) {
  std::string line;
  for (const PrintedColumn& column : columns)
    line += std::string(kGap, ' ') + padded(text_of(column), column.width, column.to_right);
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

void print_rows(const Table& table, std::ostream& out, bool colour) {
  const std::vector<PrintedColumn> columns = printed_columns(table);
  paint(out, line_of(columns, [](const PrintedColumn& c) { return c.heading; }), kBold, colour);
  out << '\n';
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    if (table.rows[r].kind == RowKind::total)
      out << line_of(columns, [](const PrintedColumn& c) { return std::string(c.to_right ? c.width : 0, '-'); }) << '\n';
    out << line_of(columns, [r](const PrintedColumn& c) { return c.cells[r]; }) << '\n';
  }
}

void print_cards(const Table& table, std::ostream& out, bool colour) {
  std::size_t label = 0;
  for (const Column& column : table.columns) label = std::max(label, width_of(column.title));
  for (const Row& row : table.rows) {
    paint(out, std::string(kGap, ' ') + report::with_unit(table.columns[0], row.cells[0]), kBold, colour);
    out << '\n';
    for (std::size_t i = 1; i < table.columns.size(); ++i) {
      if (table.columns[i].shown == Shown::data_only || std::holds_alternative<std::monostate>(row.cells[i])) continue;
      const std::string text = report::with_unit(table.columns[i], row.cells[i]);
      if (!text.empty())
        out << std::string(kCardIndent, ' ') << padded(table.columns[i].title, label + kGap, false) << text << '\n';
    }
  }
}

struct BodyPrinter {
  std::ostream& out;
  bool colour;
  void operator()(const Facts& facts) const {
    std::size_t label = 0;
    for (const Fact& fact : facts)
      if (fact.column.shown != Shown::data_only) label = std::max(label, width_of(fact.column.title));
    for (const Fact& fact : facts) {
      if (fact.column.shown == Shown::data_only) continue;
      out << std::string(kGap, ' ') << padded(fact.column.title, label + kGap, false)
          << report::with_unit(fact.column, fact.value);
      if (!fact.remark.empty()) out << "  (" << fact.remark << ')';
      out << '\n';
    }
  }
  void operator()(const Table& table) const {
    if (table.most_printed > 0 && table.rows.size() > table.most_printed) return print_first(table);
    if (table.rows.empty())
      out << std::string(kGap, ' ') << "none\n";
    else if (table.cards)
      print_cards(table, out, colour);
    else
      print_rows(table, out, colour);
  }
  void print_first(Table table) const {
    const std::size_t more = table.rows.size() - table.most_printed;
    table.rows.resize(table.most_printed);
    (*this)(table);
    out << std::string(kGap, ' ') << "and " << report::grouped(std::int64_t(more)) << " more: " << table.rest << '\n';
  }
  void operator()(const Verbatim& verbatim) const { out << verbatim.text; }
};

/// A table without rows says nothing but its notes.
bool says_nothing(const Section& section) {
  const Table* table = std::get_if<Table>(&section.body);
  return table && table->rows.empty() && section.notes.empty();
}

}  // namespace

void render_table(const Document& document, std::ostream& out, bool colour) {
  if (!document.title.empty()) {
    paint(out, document.title, kBold, colour);
    out << '\n';
  }
  const bool alone = document.sections.size() == 1;  // asked for by name, it may say that there is nothing
  for (const Section& section : document.sections) {
    if (!alone && says_nothing(section)) continue;
    if (&section != &document.sections.front() || !document.title.empty()) out << '\n';
    if (!section.title.empty()) {
      paint(out, section.title, kBold, colour);
      out << '\n';
    }
    std::visit(BodyPrinter{out, colour}, section.body);
    for (const std::string& note : section.notes) out << std::string(kGap, ' ') << note << '\n';
  }
  if (!document.warnings.empty()) out << '\n';
  for (const std::string& warning : document.warnings) out << "warning: " << warning << '\n';
  if (!document.summary.empty()) {
    out << '\n';
    const char* escape = document.tone == Tone::good ? kGreen : document.tone == Tone::bad ? kRed : kBold;
    paint(out, document.summary, escape, colour);
    out << '\n';
  }
}

}  // namespace shardfit
