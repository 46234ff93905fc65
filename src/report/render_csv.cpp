// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "report/csv.hpp"
#include "shardfit/report/render.hpp"

namespace shardfit {
namespace {

struct BodyWriter {
  std::ostream& out;
  void operator()(const Facts& facts) const {
    out << "key,value\n";
    for (const Fact& fact : facts) {
      if (fact.column.shown == Shown::table_only) continue;
      std::string line;
      report::append_field(line, data_key(fact.column));
      line += ',';
      report::append_cell(line, fact.value);
      out << line << '\n';
    }
  }
  void operator()(const Table& table) const {
    out << report::header_line(table.columns);
    for (const Row& row : table.rows) {
      if (row.kind != RowKind::data) continue;
      std::string line;
      bool first = true;
      for (std::size_t i = 0; i < table.columns.size(); ++i) {
        if (table.columns[i].shown == Shown::table_only) continue;
        if (!first) line += ',';
        first = false;
        report::append_cell(line, row.cells[i]);
      }
      out << line << '\n';
    }
  }
  void operator()(const Verbatim& verbatim) const {
    std::string line;
    report::append_field(line, verbatim.text);
    out << "text\n" << line << '\n';
  }
};

}  // namespace

void render_csv(const Document& document, std::ostream& out) {
  const bool blocks = document.sections.size() > 1;
  for (const Section& section : document.sections) {
    if (blocks && &section != &document.sections.front()) out << '\n';
    if (blocks) out << "# " << section.key << '\n';
    std::visit(BodyWriter{out}, section.body);
  }
}

}  // namespace shardfit
