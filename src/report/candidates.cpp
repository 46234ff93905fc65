// SPDX-License-Identifier: Apache-2.0
#include "report/candidates.hpp"

#include <array>
#include <ostream>

#include "report/csv.hpp"
#include "report/layout_fields.hpp"
#include "shardfit/report/views.hpp"

namespace shardfit {
namespace report {
namespace {

/// One figure of a candidate; the same rule as for LayoutField.
struct FigureField {
  Column column;
  Cell (*read)(const Quick&);
};

const std::array<FigureField, 7>& figure_fields() {
  static const std::array<FigureField, 7> fields = {{
      {{"tokens_per_s_per_gpu", "tokens/s/GPU", ColumnKind::number, 1}, [](const Quick& q) { return Cell(q.tokens_per_s_per_gpu); }},
      {{"step_time", "step", ColumnKind::seconds}, [](const Quick& q) { return Cell(Seconds(q.step_time_s)); }},
      {{"peak_memory", "peak", ColumnKind::bytes}, [](const Quick& q) { return Cell(q.peak); }},
      {{"fits", "fits", ColumnKind::flag, 0, Shown::data_only}, [](const Quick& q) { return Cell(q.fits); }},
      {{"peak_stage", "stage", ColumnKind::count, 0, Shown::data_only}, [](const Quick& q) { return count_cell(q.peak_stage); }},
      {{"peak_moment", "moment", ColumnKind::text, 0, Shown::data_only}, [](const Quick& q) { return text_cell(name_of(q.peak_moment)); }},
      {{"bottleneck", "most time in", ColumnKind::text}, [](const Quick& q) { return text_cell(name_of(q.bottleneck)); }},
  }};
  return fields;
}

}  // namespace

std::vector<Column> all_candidate_columns() {
  std::vector<Column> columns;
  for (const FigureField& field : figure_fields()) columns.push_back(field.column);
  columns.push_back({"p_oom", "OOM", ColumnKind::ratio, 0});
  columns.push_back({"gpus", "GPUs", ColumnKind::count, 0, Shown::data_only});
  for (const LayoutField& field : layout_fields()) columns.push_back(column_of(field));
  columns.push_back({"layout_id", "layout id", ColumnKind::text, 0, Shown::data_only});
  return columns;
}

Row candidate_row(const Scenario& scenario, const Candidate& candidate) {
  const Layout layout = layout_at(scenario, candidate.index);
  const GridSizes grid = grid_sizes(layout, scenario.job.gpus, scenario.job.training.global_batch_size);
  Row row;
  for (const FigureField& field : figure_fields()) row.cells.push_back(field.read(candidate.quick));
  Cell& chance = row.cells.emplace_back();
  if (candidate.p_oom >= 0) chance = candidate.p_oom;
  row.cells.push_back(count_cell(scenario.job.gpus));
  for (const LayoutField& field : layout_fields()) row.cells.push_back(field.read(layout, grid));
  row.cells.push_back(layout_id(layout));
  return row;
}

Section candidate_section(const char* key, std::string title, const Scenario& scenario,
                          std::span<const Candidate> candidates) {
  Table table{all_candidate_columns(), {}, false};
  for (const Candidate& candidate : candidates) table.rows.push_back(candidate_row(scenario, candidate));
  Section section{key, std::move(title), Table{}, {}};
  const std::string same = hide_constant_columns(table);
  if (!same.empty()) section.notes.push_back("in every row: " + same);
  table.columns.insert(table.columns.begin(), {"rank", "#", ColumnKind::count});
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    table.rows[i].cells.insert(table.rows[i].cells.begin(), count_cell(std::int64_t(i) + 1));
  section.body = std::move(table);
  return section;
}

}  // namespace report

std::vector<Column> candidate_columns() { return report::all_candidate_columns(); }

void write_candidates_csv(const Scenario& scenario, std::span<const Candidate> candidates, std::ostream& out) {
  out << report::header_line(report::all_candidate_columns());
  std::string line;
  for (const Candidate& candidate : candidates) {
    line.clear();
    for (const Cell& cell : report::candidate_row(scenario, candidate).cells) {
      if (!line.empty()) line += ',';
      report::append_cell(line, cell);
    }
    out << line << '\n';
  }
}

}  // namespace shardfit
