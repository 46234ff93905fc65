// SPDX-License-Identifier: Apache-2.0
#include "report/candidates.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <ostream>

#include "report/csv.hpp"
#include "report/layout_fields.hpp"
#include "report/numbers.hpp"
#include "shardfit/report/views.hpp"

namespace shardfit {
namespace report {
namespace {

/// What a cell of a candidate is read from.
struct Source {
  const Candidate& candidate;
  PeakRisk risk;
  const Job& job;
  Bytes usable;
  const Layout& layout;
  const Measure& measure;
  Estimator::Workspace& workspace;
  bool totals;  ///< whether figures of the whole training are asked for

  /// A metric's cell; empty where the goals give no figure for it.
  Cell metric(Metric m, double per_unit = 1) const {
    if (!totals && (m == Metric::train_time || m == Metric::cost || m == Metric::energy)) return Cell();
    const double v = measure.value(m, layout, candidate.quick, workspace);
    return v < 0 ? Cell() : Cell(v / per_unit);
  }
};

/// One figure of a candidate; the same rule as for LayoutField. `metric`: the one that it prints for, if asked.
struct FigureField {
  Column column;
  Cell (*read)(const Source&);
  Metric metric = Metric::count;
};

using S = const Source&;
constexpr Shown kData = Shown::data_only;

const std::array<FigureField, 19>& figure_fields() {
  static const std::array<FigureField, 19> fields = {{
      {{"tokens_per_s_per_gpu", "tokens/s/GPU", ColumnKind::number, 1},
       [](S s) { return Cell(s.candidate.quick.tokens_per_s_per_gpu); }},
      {{"step_time", "step", ColumnKind::seconds}, [](S s) { return Cell(Seconds(s.candidate.quick.step_time_s)); }},
      {{"useful_tokens_per_s", "useful tokens/s", ColumnKind::number, 0, kData},
       [](S s) { return s.metric(Metric::useful_tokens_per_s); },
       Metric::useful_tokens_per_s},
      {{"train_time_h", "train h", ColumnKind::number, 1, kData},
       [](S s) { return s.metric(Metric::train_time, 3600); },
       Metric::train_time},
      {{"cost_usd", "USD", ColumnKind::number, 0, kData}, [](S s) { return s.metric(Metric::cost); }, Metric::cost},
      {{"energy_kwh", "kWh", ColumnKind::number, 0, kData}, [](S s) { return s.metric(Metric::energy); }, Metric::energy},
      {{"peak_memory", "peak", ColumnKind::bytes}, [](S s) { return Cell(s.candidate.quick.peak); }},
      {{"margin", "margin", ColumnKind::bytes, 0, kData}, [](S s) { return Cell(s.usable - s.candidate.quick.peak); }},
      {{"host_memory", "host", ColumnKind::bytes, 0, kData},
       [](S s) { return Cell(s.measure.host_memory(s.layout, s.workspace)); },
       Metric::host_memory},
      {{"fits", "fits", ColumnKind::flag, 0, kData}, [](S s) { return Cell(s.candidate.quick.fits); }},
      {{"peak_stage", "stage", ColumnKind::count, 0, kData}, [](S s) { return count_cell(s.candidate.quick.peak_stage); }},
      {{"peak_moment", "moment", ColumnKind::text, 0, kData},
       [](S s) { return text_cell(name_of(s.candidate.quick.peak_moment)); }},
      {{"binding_term", "largest in it", ColumnKind::text, 0, kData}, [](S s) { return text_cell(name_of(s.risk.binding)); }},
      {{"bottleneck", "most time in", ColumnKind::text}, [](S s) { return text_cell(name_of(s.candidate.quick.bottleneck)); }},
      {{"p_oom", "OOM", ColumnKind::ratio, 0}, [](S s) { return Cell(s.risk.p_oom); }},
      {{"changes", "changes", ColumnKind::count, 0, kData},
       [](S s) {
         const Cell n = s.metric(Metric::changes);
         return std::holds_alternative<double>(n) ? count_cell(std::int64_t(std::get<double>(n))) : Cell();
       },
       Metric::changes},
      {{"hardware", "hardware", ColumnKind::text, 0, kData}, [](S s) { return Cell(s.job.hardware.name); }},
      {{"gpus", "GPUs", ColumnKind::count, 0, kData}, [](S s) { return count_cell(s.job.gpus); }, Metric::gpus},
      {{"precision", "precision", ColumnKind::text, 0, kData},
       [](S s) { return text_cell(name_of(s.job.training.precision)); }},
  }};
  return fields;
}

/// Shows the columns in which rows differ in their job; returns what of the job they have in common, if studies of several
/// jobs could differ in it.
std::string show_differing(const Study& study, Table& table) {
  std::string same;
  for (Column& column : table.columns) {
    if (column.key != "hardware" && column.key != "gpus" && column.key != "precision") continue;
    const std::size_t index = std::size_t(&column - table.columns.data());
    const Cell& first = table.rows.front().cells[index];
    const bool differs = std::any_of(table.rows.begin(), table.rows.end(),
                                     [&](const Row& row) { return row.cells[index] != first; });
    if (differs)
      column.shown = Shown::everywhere;
    else if (study.jobs().size() > 1 && column.shown != Shown::everywhere)
      same += (same.empty() ? "" : ", ") + column.key + "=" + with_unit(column, first);
  }
  return same;
}

std::vector<Metric> printed_metrics(const Study& study) {
  std::vector<Metric> printed = front_metrics(study);
  printed.push_back(study.goals().objective);
  return printed;
}

}  // namespace

std::vector<Column> all_candidate_columns(std::span<const Metric> printed) {
  std::vector<Column> columns;
  for (const FigureField& field : figure_fields()) {
    columns.push_back(field.column);
    if (field.metric != Metric::count && std::find(printed.begin(), printed.end(), field.metric) != printed.end())
      columns.back().shown = Shown::everywhere;
  }
  for (const LayoutField& field : layout_fields()) columns.push_back(column_of(field));
  columns.push_back({"layout_id", "layout id", ColumnKind::text, 0, Shown::data_only});
  return columns;
}

CandidateRows::CandidateRows(const Study& study) : study_(study), workspaces_(study.jobs().size()) {
  // Of a unit of tokens nobody wants them unasked.
  const std::vector<Metric> asked = printed_metrics(study);
  totals_ = study.goals().train_tokens.has_value() || std::any_of(asked.begin(), asked.end(), [](Metric m) {
              return m == Metric::train_time || m == Metric::cost || m == Metric::energy;
            });
  for (const StudyJob& job : study.jobs())
    measures_.emplace_back(job.scenario->job, *job.estimator, study.goals(), std::span<const Metric>());
}

Row CandidateRows::row(const Candidate& candidate) { return row(candidate, nullptr); }
Row CandidateRows::row(const Judged& judged) { return row(judged, &judged); }

Row CandidateRows::row(const Candidate& candidate, const Judged* judged) {
  const std::size_t job = study_.job_of(candidate.index);
  const Job& j = study_.jobs()[job].scenario->job;
  const Layout layout = study_.layout_of(candidate.index);
  const GridSizes grid = grid_sizes(layout, j.gpus, j.training.global_batch_size);
  const Estimator& estimator = *study_.jobs()[job].estimator;
  const PeakRisk risk = judged ? PeakRisk{judged->p_oom, judged->binding}
                               : estimator.peak_risk(layout, candidate.quick, workspaces_[job]);
  const Source source{candidate, risk, j, estimator.usable_memory(), layout, measures_[job], workspaces_[job], totals_};
  Row row;
  for (const FigureField& field : figure_fields()) row.cells.push_back(field.read(source));
  for (const LayoutField& field : layout_fields()) row.cells.push_back(field.read(layout, grid));
  row.cells.push_back(layout_id(layout));
  return row;
}

Section candidate_section(const char* key, std::string title, const Study& study, std::span<const Judged> candidates) {
  const std::vector<Metric> printed = printed_metrics(study);
  Table table{all_candidate_columns(printed), {}, false};
  CandidateRows rows(study);
  for (const Judged& candidate : candidates) table.rows.push_back(rows.row(candidate));
  Section section{key, std::move(title), Table{}, {}};
  std::string same = table.rows.empty() ? "" : show_differing(study, table);
  const std::string fields = hide_constant_columns(table);
  if (!same.empty() && !fields.empty()) same += ", ";
  same += fields;
  if (!same.empty()) section.notes.push_back("in every row: " + same);
  table.columns.insert(table.columns.begin(), {"rank", "#", ColumnKind::count});
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    table.rows[i].cells.insert(table.rows[i].cells.begin(), count_cell(std::int64_t(i) + 1));
  section.body = std::move(table);
  return section;
}

}  // namespace report

namespace {

template <class C>
void append_line(report::CandidateRows& rows, const C& candidate, std::string& text) {
  bool first = true;
  for (const Cell& cell : rows.row(candidate).cells) {
    if (!first) text += ',';
    first = false;
    report::append_cell(text, cell);
  }
  text += '\n';
}

}  // namespace

void write_candidates_csv(const Study& study, std::span<const Judged> candidates, std::ostream& out) {
  out << candidates_csv_header();
  report::CandidateRows rows(study);
  std::string line;
  for (const Judged& candidate : candidates) {
    line.clear();
    append_line(rows, candidate, line);
    out << line;
  }
}

std::string candidates_csv_header() { return report::header_line(report::all_candidate_columns()); }

struct CandidateLines::Pool {
  std::mutex mutex;
  std::vector<std::unique_ptr<report::CandidateRows>> free;
};

CandidateLines::CandidateLines(const Study& study) : study_(&study), pool_(std::make_shared<Pool>()) {}

std::string CandidateLines::operator()(std::span<const Candidate> candidates) const {
  std::string text;
  if (candidates.empty()) return text;
  std::unique_ptr<report::CandidateRows> rows;
  {
    const std::lock_guard lock(pool_->mutex);
    if (!pool_->free.empty()) rows = std::move(pool_->free.back()), pool_->free.pop_back();
  }
  if (!rows) rows = std::make_unique<report::CandidateRows>(*study_);
  for (const Candidate& candidate : candidates) append_line(*rows, candidate, text);
  const std::lock_guard lock(pool_->mutex);
  pool_->free.push_back(std::move(rows));
  return text;
}

}  // namespace shardfit
