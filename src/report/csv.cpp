// SPDX-License-Identifier: Apache-2.0
#include "report/csv.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace shardfit::report {

void append_field(std::string& line, std::string_view text) {
  const bool quote = text.find_first_of(",\"\r\n") != std::string_view::npos || text.starts_with(' ') || text.ends_with(' ');
  if (!quote) {
    line += text;
    return;
  }
  line += '"';
  for (char c : text) {
    if (c == '"') line += '"';
    line += c;
  }
  line += '"';
}

void append_cell(std::string& line, const Cell& cell) {
  // Nine significant digits: more than any figure deserves, few enough to read.
  struct Writer {
    std::string& to;
    void operator()(std::monostate) const {}
    void operator()(const std::string& text) const { append_field(to, text); }
    void operator()(bool flag) const { to += flag ? "true" : "false"; }
    void operator()(std::int64_t n) const { fmt::format_to(std::back_inserter(to), "{}", n); }
    void operator()(double n) const {
      if (std::isfinite(n)) fmt::format_to(std::back_inserter(to), "{:.9g}", n);
    }
    void operator()(Bytes b) const { (*this)(in_gib(b)); }
    void operator()(Seconds s) const { (*this)(s.value); }
  };
  std::visit(Writer{line}, cell);
}

std::string header_line(std::span<const Column> columns) {
  std::string line;
  bool first = true;
  for (const Column& column : columns) {
    if (column.shown == Shown::table_only) continue;
    if (!first) line += ',';
    first = false;
    append_field(line, data_key(column));
  }
  return line + '\n';
}

}  // namespace shardfit::report
